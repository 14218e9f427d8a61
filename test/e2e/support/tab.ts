import type { Page } from 'playwright-core'
import type { Harness } from '../harness/harness.ts'

/** The harness of a page, called from the test's process: every call and every answer travels as JSON. */
export type RemoteHarness = {
  readonly [K in keyof Harness]: (...args: Parameters<Harness[K]>) => Promise<Awaited<ReturnType<Harness[K]>>>
}

/** A page of a device with its Rejoin open. */
export type Tab = RemoteHarness & { readonly page: Page }

export function createTab(page: Page): Tab {
  return new Proxy({ page } as Tab, {
    get(target, name) {
      if (name in target) return Reflect.get(target, name)
      // Whoever awaits a tab asks whether it is a promise.
      if (typeof name !== 'string' || name === 'then') return undefined
      return (...args: unknown[]) =>
        page.evaluate(
          ([method, given]) =>
            (window.harness as unknown as Record<string, (...all: unknown[]) => unknown>)[method]?.(...given),
          [name, args] as const,
        )
    },
  })
}
