import { expect, test } from 'vitest'
import { ANSWER_WITHIN_MS, createChannelLocks } from '../../../src/storage/channel-locks.ts'
import { holdLock } from '../../../src/storage/hold-lock.ts'
import { createMemoryChannels } from '../../../src/storage/memory-channel.ts'
import { createTestTimers } from './test-environment.ts'

/** Pages of one account without Web Locks. */
function createPages() {
  const openChannel = createMemoryChannels()
  let ids = 0
  return () => {
    const timers = createTestTimers(1)
    const lifetime = new AbortController()
    const locks = createChannelLocks({
      channel: openChannel('liveness'),
      newId: () => `ask-${++ids}`,
      timers: { ...timers, frame: (run) => timers.setTimeout(run, 0), cancelFrame: timers.clearTimeout },
      signal: lifetime.signal,
    })
    return { locks, timers, die: () => lifetime.abort() }
  }
}

test('F38 a lock that a living page holds is held for every page, and free once that page let go', async () => {
  const open = createPages()
  const [a, b] = [open(), open()]
  const release = await holdLock(a.locks, 'claim')
  expect(await a.locks.isHeld('claim')).toBe(true)
  expect(await b.locks.isHeld('claim')).toBe(true)
  expect(await holdLock(b.locks, 'claim', { ifAvailable: true })).toBeUndefined()
  release?.()
  const free = b.locks.isHeld('claim')
  await b.timers.waitingFor(ANSWER_WITHIN_MS)
  b.timers.end(ANSWER_WITHIN_MS)
  expect(await free).toBe(false)
})

test('F38 of a lock whose page died nobody says anything: after five seconds it is free, no sooner', async () => {
  const open = createPages()
  const [a, b] = [open(), open()]
  await holdLock(a.locks, 'claim')
  a.die()
  let said: boolean | undefined
  const asked = b.locks.isHeld('claim').then((held) => {
    said = held
  })
  await b.timers.waitingFor(ANSWER_WITHIN_MS)
  expect(said).toBeUndefined()
  b.timers.end(ANSWER_WITHIN_MS)
  await asked
  expect(said).toBe(false)
})

test('F38 a page answers for its own lock alone, and only to who asked', async () => {
  const open = createPages()
  const [a, b, c] = [open(), open(), open()]
  await holdLock(a.locks, 'one')
  const other = c.locks.isHeld('two')
  expect(await b.locks.isHeld('one')).toBe(true)
  await c.timers.waitingFor(ANSWER_WITHIN_MS)
  c.timers.end(ANSWER_WITHIN_MS)
  expect(await other).toBe(false)
})

test('F38 within a page one holder has the lock, and it is granted without asking anybody', async () => {
  const { locks, timers } = createPages()()
  const release = await holdLock(locks, 'leader')
  expect(timers.waiting()).toEqual([])
  const log: string[] = []
  const second = locks.request('leader', {}, () => log.push('second'))
  expect(await holdLock(locks, 'leader', { ifAvailable: true })).toBeUndefined()
  expect(log).toEqual([])
  release?.()
  await second
  expect(log).toEqual(['second'])
})

test('F38 who is closed while it asks is told that it is held, and leaves no timer', async () => {
  const { locks, timers, die } = createPages()()
  const asked = locks.isHeld('claim')
  await timers.waitingFor(ANSWER_WITHIN_MS)
  die()
  expect(await asked).toBe(true)
  expect(timers.waiting()).toEqual([])
  expect(await locks.isHeld('claim')).toBe(true)
})

test('what others post on the channel is no question and no answer', async () => {
  const openChannel = createMemoryChannels()
  const stranger = openChannel('liveness')
  const heard: unknown[] = []
  stranger.listen((message) => heard.push(message))
  const timers = createTestTimers(1)
  const locks = createChannelLocks({
    channel: openChannel('liveness'),
    newId: () => 'ask-1',
    timers: { ...timers, frame: (run) => timers.setTimeout(run, 0), cancelFrame: timers.clearTimeout },
    signal: new AbortController().signal,
  })
  await holdLock(locks, 'claim')
  for (const message of [null, 7, 'held?', {}, { kind: 'held?', ask: 1, name: 'claim' }, { kind: 'held', ask: 'x' }]) {
    stranger.post(message)
  }
  stranger.post({ kind: 'held?', ask: 'last', name: 'claim' })
  await expect.poll(() => heard).toEqual([{ kind: 'held', ask: 'last' }])
})
