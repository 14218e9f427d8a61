import { playwright } from '@vitest/browser-playwright'
import { defineConfig } from 'vitest/config'
import { BROWSER_ARGS, findBrowser } from './scripts/find-browser.mjs'
import { aliases } from './vite.aliases.ts'

const resolve = { alias: aliases(), dedupe: ['yjs'] }

export default defineConfig({
  test: {
    projects: [
      {
        resolve,
        test: { name: 'node', include: ['test/unit/**/*.test.{ts,tsx}', 'test/server/**/*.test.ts', 'test/*.test.ts'] },
      },
      {
        resolve,
        test: {
          name: 'chromium',
          include: ['test/browser/**/*.test.{ts,tsx}'],
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            instances: [{ browser: 'chromium' }],
            provider: playwright({ launchOptions: { executablePath: await findBrowser(), args: BROWSER_ARGS } }),
          },
        },
      },
      {
        resolve,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          fileParallelism: false,
        },
      },
    ],
  },
})
