import { expect, test } from 'vitest'
import type { Lifecycle } from '../../../src/core/environment.ts'
import { createDecidingTabs } from '../../../src/storage/deciding-tabs.ts'
import { createMemoryLocks } from '../../../src/storage/memory-locks.ts'

type Event = Parameters<Lifecycle['on']>[0]

function openTab(locks = createMemoryLocks()) {
  const listeners = new Map<Event, () => void>()
  const life = new AbortController()
  const lifecycle: Lifecycle = {
    online: () => true,
    on(event, run) {
      listeners.set(event, run)
      return () => listeners.delete(event)
    },
  }
  const tabs = createDecidingTabs({ locks, lockName: (id) => `decisions:${id}`, lifecycle, signal: life.signal })
  return { locks, tabs, happen: (event: Event) => listeners.get(event)?.(), die: () => life.abort(), listeners }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('R8 a tab that saved decisions is alive until it dies, in every tab of the device and for that session alone', async () => {
  const a = openTab()
  const b = openTab(a.locks)
  expect(await b.tabs.isAnyAlive('s1')).toBe(false)
  a.tabs.enter('s1')
  a.tabs.enter('s1')
  expect(await a.tabs.isAnyAlive('s1')).toBe(true)
  expect(await b.tabs.isAnyAlive('s1')).toBe(true)
  expect(await b.tabs.isAnyAlive('s2')).toBe(false)
  a.die()
  await turn()
  expect(await b.tabs.isAnyAlive('s1')).toBe(false)
  expect(a.listeners.size).toBe(0)
})

test('R8 of two tabs that saved decisions the death of one leaves the other', async () => {
  const a = openTab()
  const b = openTab(a.locks)
  a.tabs.enter('s1')
  b.tabs.enter('s1')
  await turn()
  a.die()
  await turn()
  expect(await a.tabs.isAnyAlive('s1')).toBe(true)
  b.die()
  await turn()
  expect(await a.tabs.isAnyAlive('s1')).toBe(false)
})

test('a page in the back/forward cache holds no lock, and holds it again when it comes back', async () => {
  const a = openTab()
  const b = openTab(a.locks)
  a.tabs.enter('s1')
  await turn()
  a.happen('pagehide')
  await turn()
  expect(await b.tabs.isAnyAlive('s1')).toBe(false)
  a.happen('pageshow')
  expect(await b.tabs.isAnyAlive('s1')).toBe(true)
  a.die()
  a.tabs.enter('s2')
  await turn()
  for (const id of ['s1', 's2']) expect(await b.tabs.isAnyAlive(id)).toBe(false)
})
