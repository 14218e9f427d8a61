import { eventually } from './eventually.ts'
import type { Tab } from './tab.ts'

/** Waits until everything that the tab's chat shows is on its device's disk. */
export async function stored(tab: Tab): Promise<void> {
  await eventually(async () => {
    const { chat, messages } = await tab.view()
    return JSON.stringify(chat) === JSON.stringify(messages)
  }).toBe(true)
  await tab.stored()
}

/** Waits until the server has all of that, too. */
export async function synced(tab: Tab): Promise<void> {
  await stored(tab)
  await eventually(() => tab.view()).toMatchObject({ status: { state: 'synced' } })
}
