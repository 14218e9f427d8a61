import { expect, test } from 'vitest'
import type { Lifecycle } from '../../../src/core/environment.ts'
import { createDecidingTabs } from '../../../src/storage/deciding-tabs.ts'
import { createMemoryLocks } from '../../../src/storage/memory-locks.ts'
import { talk } from '../core/sessions.ts'

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
  const tabs = createDecidingTabs({ locks, lockName: (purpose) => purpose, lifecycle, signal: life.signal })
  return { locks, tabs, happen: (event: Event) => listeners.get(event)?.(), die: () => life.abort(), listeners }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

const on = (...messageIds: string[]) => talk(...messageIds).decisions

test('R8 a tab that took a decision is alive until it dies, in every tab of the device and for that decision alone', async () => {
  const a = openTab()
  const b = openTab(a.locks)
  expect(await b.tabs.isAlive('s1', 'm1')).toBe(false)
  a.tabs.enter('s1', on('m1'))
  a.tabs.enter('s1', on('m1', 'm2'))
  for (const { tabs } of [a, b]) {
    expect(await tabs.isAlive('s1', 'm1')).toBe(true)
    expect(await tabs.isAlive('s1', 'm2')).toBe(true)
  }
  expect(await b.tabs.isAlive('s1', 'm3')).toBe(false)
  expect(await b.tabs.isAlive('s2', 'm1')).toBe(false)
  a.die()
  await turn()
  for (const id of ['m1', 'm2']) expect(await b.tabs.isAlive('s1', id)).toBe(false)
  expect(a.listeners.size).toBe(0)
})

test('R8 a decision that a tab read is not its own when it saves it again, and its own stays so when it reads it', async () => {
  const a = openTab()
  const b = openTab(a.locks)
  a.tabs.enter('s1', on('m1'))
  b.tabs.read('s1', on('m1'))
  b.tabs.enter('s1', on('m1', 'm2'))
  b.tabs.read('s1', on('m1', 'm2'))
  await turn()
  a.die()
  await turn()
  expect(await b.tabs.isAlive('s1', 'm1')).toBe(false)
  expect(await b.tabs.isAlive('s1', 'm2')).toBe(true)
  // What it read of one session says nothing of another.
  b.tabs.enter('s2', on('m1'))
  expect(await b.tabs.isAlive('s2', 'm1')).toBe(true)
})

test('R8 of two tabs that took the same decision the death of one leaves the other', async () => {
  const a = openTab()
  const b = openTab(a.locks)
  a.tabs.enter('s1', on('m1'))
  b.tabs.enter('s1', on('m1'))
  await turn()
  a.die()
  await turn()
  expect(await a.tabs.isAlive('s1', 'm1')).toBe(true)
  b.die()
  await turn()
  expect(await a.tabs.isAlive('s1', 'm1')).toBe(false)
})

test('a page in the back/forward cache holds no lock, and holds it again when it comes back', async () => {
  const a = openTab()
  const b = openTab(a.locks)
  a.tabs.enter('s1', on('m1'))
  await turn()
  a.happen('pagehide')
  await turn()
  expect(await b.tabs.isAlive('s1', 'm1')).toBe(false)
  a.happen('pageshow')
  expect(await b.tabs.isAlive('s1', 'm1')).toBe(true)
  a.die()
  a.tabs.enter('s1', on('m2'))
  await turn()
  for (const id of ['m1', 'm2']) expect(await b.tabs.isAlive('s1', id)).toBe(false)
})

test('R8 a tab lets go of what is no longer stored, of that session alone', async () => {
  const a = openTab()
  a.tabs.enter('s1', on('m1', 'm2'))
  a.tabs.enter('s2', on('m1'))
  await turn()
  a.tabs.stored('s1', on('m2'))
  await turn()
  expect(await a.tabs.isAlive('s1', 'm1')).toBe(false)
  expect(await a.tabs.isAlive('s1', 'm2')).toBe(true)
  expect(await a.tabs.isAlive('s2', 'm1')).toBe(true)
})
