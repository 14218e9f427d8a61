import { expect, test } from 'vitest'
import { createMemoryChannels } from '../../../src/storage/memory-channel.ts'
import { createTabSignals } from '../../../src/sync/tab-signals.ts'
import { testEnvironment } from '../storage/test-environment.ts'

/** Tabs that hear each other. */
function openTabs(openChannel = createMemoryChannels()) {
  return (tab: string) => {
    const page = testEnvironment({ indexedDB: undefined })
    return { page, signals: createTabSignals(openChannel('sync'), tab, page.lifecycle) }
  }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0))

test('F36 a page that goes away takes its leave at once, and says again what it has open when it comes back', async () => {
  const open = openTabs()
  const a = open('a')
  const b = open('b')
  b.signals.setOpen(new Set(['order-1']))
  await turn()
  expect([...a.signals.open.get()]).toEqual(['order-1'])
  b.page.happen('pagehide')
  await turn()
  expect([...a.signals.open.get()]).toEqual([])
  b.page.happen('pageshow')
  await turn()
  expect([...a.signals.open.get()]).toEqual(['order-1'])
  b.signals.close()
  await turn()
  expect([...a.signals.open.get()]).toEqual([])
  expect(b.page.listeners()).toBe(0)
  a.signals.close()
})

test('G9 what the sending tab tells of the connection comes with whether everything is fetched', async () => {
  const open = openTabs()
  const a = open('a')
  const heard: unknown[] = []
  const asked: string[] = []
  a.signals.onAsked(() => asked.push('a'))
  const b = open('b')
  b.signals.onConnection((state, behind) => heard.push([state, behind]))
  await turn()
  expect(asked).toEqual(['a'])
  a.signals.tellConnection({ state: 'online' }, true)
  a.signals.tellConnection({ state: 'offline', reason: 'no network' }, false)
  a.signals.tellConnection({ state: 'error', code: 'refused', reason: 'another account' }, true)
  await turn()
  expect(heard).toEqual([
    [{ state: 'online' }, true],
    [{ state: 'offline', reason: 'no network' }, false],
    [{ state: 'error', code: 'refused', reason: 'another account' }, true],
  ])
  a.signals.close()
  b.signals.close()
})

test('F36 a tab that crashed is forgotten at the second roll call, and one that answers is not', async () => {
  const openChannel = createMemoryChannels()
  const crashed = openChannel('sync')
  const open = openTabs(openChannel)
  const a = open('a')
  const b = open('b')
  b.signals.setOpen(new Set(['order-1']))
  crashed.post({ kind: 'open', tab: 'crashed', sessionIds: ['order-2'] })
  await turn()
  a.signals.callRoll()
  await turn()
  expect([...a.signals.open.get()].sort()).toEqual(['order-1', 'order-2'])
  a.signals.callRoll()
  await turn()
  expect([...a.signals.open.get()]).toEqual(['order-1'])
  crashed.close()
  a.signals.close()
  b.signals.close()
})
