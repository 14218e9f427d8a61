import { expect, test } from 'vitest'
import { createMemoryLocks } from '../../../src/storage/memory-locks.ts'
import { lead } from '../../../src/sync/lead.ts'
import { testEnvironment } from '../storage/test-environment.ts'

/** Tabs of one device; `log` says who began and stopped to send. */
function openTabs() {
  const locks = createMemoryLocks()
  const log: string[] = []
  const open = (name: string) => {
    const page = testEnvironment({ indexedDB: undefined })
    const lifetime = new AbortController()
    lead({ locks, lifecycle: page.lifecycle, timers: page.timers }, 'leader', {
      start() {
        log.push(`${name} sends`)
        return () => log.push(`${name} stops`)
      },
      signal: lifetime.signal,
      onError: (error) => log.push(`${name}: ${error}`),
    })
    return { page, close: () => lifetime.abort() }
  }
  return { open, log }
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 0))

test('F36 a page that goes away lets another send at once, and is in line again when it comes back', async () => {
  const { open, log } = openTabs()
  const a = open('a')
  const b = open('b')
  await turn()
  a.page.happen('pagehide')
  await turn()
  a.page.happen('pageshow')
  await turn()
  expect(log).toEqual(['a sends', 'a stops', 'b sends'])
  b.close()
  await turn()
  expect(log.slice(3)).toEqual(['b stops', 'a sends'])
  a.close()
})

test('F38 a page that goes away while it waits is not the next to send', async () => {
  const { open, log } = openTabs()
  const a = open('a')
  const b = open('b')
  const c = open('c')
  await turn()
  b.page.happen('pagehide')
  a.close()
  await turn()
  expect(log).toEqual(['a sends', 'a stops', 'c sends'])
  b.close()
  c.close()
})

test('F38 a page that is shown again without having gone asks for the lead once', async () => {
  const { open, log } = openTabs()
  const a = open('a')
  await turn()
  for (let shown = 0; shown < 2; shown++) a.page.happen('pageshow')
  await turn()
  a.page.happen('pagehide')
  await turn()
  expect(log).toEqual(['a sends', 'a stops'])
  a.close()
})

test('a tab that is closed lets go, and hears of nothing any more', async () => {
  const { open, log } = openTabs()
  const a = open('a')
  await turn()
  a.close()
  a.page.happen('pageshow')
  await turn()
  expect(log).toEqual(['a sends', 'a stops'])
  expect(a.page.listeners()).toBe(0)
})

test('F38 a request for the lock that fails is told of, and made again in a while', async () => {
  const page = testEnvironment({ indexedDB: undefined })
  const locks = createMemoryLocks()
  let broken = true
  const lifetime = new AbortController()
  const log: string[] = []
  const failing = {
    ...locks,
    request: (...args: Parameters<typeof locks.request>) =>
      broken ? Promise.reject(new Error('the page is not active')) : locks.request(...args),
  } as typeof locks
  lead({ locks: failing, lifecycle: page.lifecycle, timers: page.timers }, 'leader', {
    start() {
      log.push('sends')
      return () => log.push('stops')
    },
    signal: lifetime.signal,
    onError: (error) => log.push(String(error)),
  })
  await page.clock.waitingFor(5000)
  broken = false
  page.clock.end(5000)
  await turn()
  lifetime.abort()
  expect(log).toEqual(['Error: the page is not active', 'sends', 'stops'])
  expect(page.clock.waiting()).toEqual([])
})
