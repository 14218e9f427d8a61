import { availableParallelism } from 'node:os'
import { playwright } from '@vitest/browser-playwright'
import { defineConfig } from 'vitest/config'
import { BROWSER_ARGS, findBrowser } from './scripts/find-browser.mjs'
import { aliases } from './vite.aliases.ts'

/** What browser tests import, by name: a dependency that vite meets in the middle of a run reloads the page under a test. */
const BROWSER_PACKAGES = [
  '@testing-library/react',
  'idb',
  'lib0/decoding',
  'lib0/encoding',
  'react',
  'react/jsx-dev-runtime',
  'react-dom/client',
  'y-protocols/awareness',
  'y-websocket',
  'yjs',
  'zod/mini',
]

const resolve = { alias: aliases(), dedupe: ['yjs'] }
// Without a browser the node tests still run; the tests that need one then say what they miss.
const executablePath = await findBrowser().catch(() => '')

export default defineConfig({
  test: {
    // The groups run one after the other: a browser on a busy machine is what makes tests slow.
    projects: [
      {
        resolve,
        test: {
          name: 'node',
          include: ['test/unit/**/*.test.{ts,tsx}', 'test/server/**/*.test.ts', 'test/*.test.ts'],
          sequence: { groupOrder: 0 },
          // Much of a test's time is spent waiting: two cores are not busy with one file at a time.
          maxWorkers: Math.max(2, availableParallelism() - 1),
          testTimeout: 20_000,
          hookTimeout: 20_000,
        },
      },
      {
        resolve,
        optimizeDeps: { include: BROWSER_PACKAGES },
        test: {
          name: 'chromium',
          include: ['test/browser/**/*.test.{ts,tsx}'],
          sequence: { groupOrder: 1 },
          testTimeout: 30_000,
          hookTimeout: 30_000,
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            instances: [{ browser: 'chromium' }],
            provider: playwright({ launchOptions: { executablePath, args: BROWSER_ARGS } }),
          },
        },
      },
      {
        resolve,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/e2e/build-once.ts', 'test/e2e/launch-browser.ts'],
          sequence: { groupOrder: 2 },
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // A browser on a loaded machine can miss a bound; the report says which test needed its second try.
          retry: 1,
          // Most of a test's time is spent waiting: two run at once, on any machine.
          maxWorkers: 2,
          // The files share nothing but the connection to the browser, and every import of its driver takes a second.
          isolate: false,
        },
      },
    ],
  },
})
