import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { BROWSER_ARGS, findBrowser } from '../../scripts/find-browser.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the browser is reached that all test files share. */
    readonly browserEndpoint: string
  }
}

/** One browser for the whole run: each test takes profiles of its own in it. */
export default async function launchBrowser(project: TestProject): Promise<() => Promise<void>> {
  const server = await chromium.launchServer({ executablePath: await findBrowser(), args: BROWSER_ARGS })
  project.provide('browserEndpoint', server.wsEndpoint())
  return () => server.close()
}
