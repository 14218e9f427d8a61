import type { BrowserContext, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import type { OpenOptions } from '../harness/harness.ts'
import { browser } from './browser.ts'
import type { EffectCounter } from './effect-counter.ts'
import { type FaultProxy, openFaultProxy } from './fault-proxy.ts'
import type { ServerProcess } from './server-process.ts'
import { createTab, type Tab } from './tab.ts'

/** A browser profile of its own: nothing is shared with other devices but the server. */
export interface Device {
  readonly context: BrowserContext
  /** Between this device and the server. */
  readonly cable: FaultProxy
  /** A further tab, with Rejoin open and, unless it is told otherwise, the chat of the session `shared`. */
  readonly openTab: (options?: TabOptions) => Promise<Tab>
  /** Loads the tab's page again and opens in it what a tab opens. */
  readonly reload: (tab: Tab, options?: TabOptions) => Promise<void>
  /** The browser knows that there is no network, and open connections end. */
  readonly goOffline: () => Promise<void>
  readonly goOnline: () => Promise<void>
}

export interface TabOptions extends Partial<OpenOptions> {
  /** `false`: only Rejoin is opened, no chat. */
  readonly session?: string | false
}

export interface DeviceOptions {
  readonly label: string
  readonly counter: EffectCounter
  /** The address of the harness page. */
  readonly page: string
  /** Absent: a device without a server. */
  readonly server?: ServerProcess
  /** Absent: a profile in the browser of the run. */
  readonly context?: BrowserContext
}

/** For the rest of the test. What a page throws outside of the test's own calls fails the test. */
export async function openDevice({
  label,
  counter,
  page: address,
  server,
  context: given,
}: DeviceOptions): Promise<Device> {
  const context = given ?? (await (await browser()).newContext())
  const cable = await openFaultProxy(server?.port ?? 0)
  const tabs = new Set<Tab>()
  const thrown: Error[] = []
  await counter.connect(context)
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail') await tellState()
    await context.close()
    if (thrown.length > 0) throw new AggregateError(thrown, `A page of the ${label} threw.`)
  })

  async function tellState(): Promise<void> {
    for (const tab of tabs) {
      if (tab.page.isClosed()) continue
      const view = await tab.view().catch(String)
      console.log(`${label} showed:\n${JSON.stringify(view)}`)
    }
  }

  async function show(page: Page, { session = 'shared', ...options }: TabOptions = {}): Promise<void> {
    const tab = createTab(page)
    await tab.open({ label, ...(server && { serverUrl: cable.url }), ...options })
    if (session === false) return
    const outcome = await tab.chat(session)
    if (outcome !== 'open') throw new Error(`The chat ${session} did not open on the ${label}: ${outcome}`)
  }

  return {
    context,
    cable,
    openTab: async (options) => {
      const page = await context.newPage()
      page.on('pageerror', (error) => thrown.push(error))
      await page.goto(address)
      const tab = createTab(page)
      tabs.add(tab)
      await show(page, options)
      return tab
    },
    reload: async ({ page }, options) => {
      await page.reload()
      await show(page, options)
    },
    goOffline: async () => {
      await context.setOffline(true)
      cable.cut()
    },
    goOnline: async () => {
      cable.heal()
      await context.setOffline(false)
    },
  }
}
