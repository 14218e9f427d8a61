import { expect, onTestFinished, test } from 'vitest'
import { isSwitchedOff, shareSwitch } from '../../../demo/src/share-switch.ts'
import { createObservableValue } from '../../../src/core/observable-value.ts'

/** A switch in a tab of its own: storage events come from other documents only. */
function tabOf(realm: string, on = true) {
  const value = createObservableValue(on)
  const closed = new AbortController()
  onTestFinished(() => {
    closed.abort()
    localStorage.removeItem(`refund-desk:network:${realm}`)
  })
  shareSwitch({ ...value, turn: value.set }, { realm, shelf: localStorage, signal: closed.signal })
  return { ...value, close: () => closed.abort() }
}

/** What another tab of the device does to the same shelf. */
async function inAnotherTab(act: (shelf: Storage) => void): Promise<void> {
  const frame = document.createElement('iframe')
  document.body.append(frame)
  const heard = new Promise((resolve) => addEventListener('storage', resolve, { once: true }))
  act((frame.contentWindow as Window).localStorage)
  await heard
  frame.remove()
}

test('F50 the switch of one tab turns the switch of the device’s other tabs', async () => {
  const realm = crypto.randomUUID()
  const tab = tabOf(realm)
  await inAnotherTab((shelf) => shelf.setItem(`refund-desk:network:${realm}`, 'off'))
  expect(tab.get()).toBe(false)
  await inAnotherTab((shelf) => shelf.removeItem(`refund-desk:network:${realm}`))
  expect(tab.get()).toBe(true)
})

test('F50 a switch that is off stays off for the next page of the device, and for no other device', () => {
  const realm = crypto.randomUUID()
  const tab = tabOf(realm)
  tab.set(false)
  expect(isSwitchedOff(realm, localStorage)).toBe(true)
  expect(isSwitchedOff(`${realm}-2`, localStorage)).toBe(false)
  tab.set(true)
  expect(isSwitchedOff(realm, localStorage)).toBe(false)
})

test('F50 a page that was closed follows no switch any more', async () => {
  const realm = crypto.randomUUID()
  const tab = tabOf(realm)
  tab.close()
  await inAnotherTab((shelf) => shelf.setItem(`refund-desk:network:${realm}`, 'off'))
  expect(tab.get()).toBe(true)
})
