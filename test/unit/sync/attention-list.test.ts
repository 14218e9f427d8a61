import { expect, test } from 'vitest'
import type { ClaimRow } from '../../../src/core/device-session.ts'
import { createObservableValue } from '../../../src/core/observable-value.ts'
import type { SessionIndex } from '../../../src/storage/session-index.ts'
import { createAttentionList } from '../../../src/sync/attention-items.ts'
import { claimRow, row } from '../core/sessions.ts'

/** A list over one session with `claims`, at a clock of its own. */
function listOver(...claims: readonly ClaimRow[]) {
  const index = createObservableValue<SessionIndex>(new Map())
  const waiting: { readonly run: () => void; readonly ms: number }[] = []
  const lifetime = new AbortController()
  const clock = { now: 1_000_000 }
  const show = (...shown: readonly ClaimRow[]) =>
    index.set(
      new Map([['session-1', { sessionId: 'session-1', row: row(), claims: shown, deletes: [], lastLocalSeq: 0 }]]),
    )
  show(...claims)
  const list = createAttentionList({
    index: {
      ...index,
      ready: Promise.resolve(),
      isCurrent: () => true,
      onUnrest: () => () => {},
      settled: async () => {},
    },
    now: () => clock.now,
    timers: {
      setTimeout(run, ms) {
        const timer = { run, ms }
        waiting.push(timer)
        return timer
      },
      clearTimeout(timer) {
        const at = waiting.indexOf(timer as (typeof waiting)[number])
        if (at >= 0) waiting.splice(at, 1)
      },
      frame: () => undefined,
      cancelFrame: () => {},
    },
    signal: lifetime.signal,
  })
  /** Lets the one timer that waits end, by the clock. */
  const passTimer = () => {
    const timer = waiting.shift()
    if (!timer) throw new Error('No timer waits.')
    clock.now += timer.ms
    timer.run()
  }
  return { list, clock, show, waiting, passTimer, end: () => lifetime.abort() }
}

test('K7 a claim that won and that no page takes is listed when the minute is over, without another event', () => {
  const won = claimRow({ state: 'won', deviceAt: 400_000, wonAt: 970_000 })
  const { list, passTimer, waiting } = listOver(won)
  expect(list.get()).toEqual([])
  const heard: unknown[] = []
  list.subscribe(() => heard.push(list.get()))
  passTimer()
  expect(list.get()).toMatchObject([{ kind: 'claim', claimId: 'c1', state: 'won', since: 970_000, deviceAt: 400_000 }])
  expect(heard).toHaveLength(1)
  expect(waiting).toEqual([])
})

test('K7 a claim that a page takes within the minute is not listed, and starts a minute of its own', () => {
  const { list, clock, show, passTimer } = listOver(claimRow({ state: 'won', wonAt: 970_000 }))
  clock.now += 20_000
  show(claimRow({ state: 'running', wonAt: 970_000, startedAt: clock.now }))
  passTimer()
  expect(clock.now).toBe(1_080_000)
  expect(list.get()).toMatchObject([{ state: 'running', since: 1_020_000 }])
  show(claimRow({ state: 'settled' }))
  expect(list.get()).toEqual([])
})

test('K8 a run that is older than a minute is listed with its start, also while its page lives', () => {
  expect(listOver(claimRow({ state: 'running', startedAt: 940_000 })).list.get()).toMatchObject([{ since: 940_000 }])
  expect(listOver(claimRow({ state: 'running', startedAt: 940_001 })).list.get()).toEqual([])
})

test('K8 a run that broke off is listed too when its attempt was taken over; one that its page may still end is not yet', () => {
  const problem = { code: 'interrupted', message: 'The page ended.', retryable: false, at: 1 }
  const over = claimRow({ state: 'taken-over', startedAt: 990_000 })
  expect(listOver({ ...over, problem }).list.get()).toMatchObject([{ state: 'taken-over', since: 990_000, problem }])
  const { list, passTimer } = listOver(over)
  expect(list.get()).toEqual([])
  passTimer()
  expect(list.get()).toMatchObject([{ state: 'taken-over' }])
  // Won and never begun: nothing ran.
  expect(listOver(claimRow({ state: 'taken-over', wonAt: 5, problem })).list.get()).toEqual([])
})

test('K8 a run that broke off is listed at once', () => {
  const problem = { code: 'interrupted', message: 'The page ended.', retryable: false, at: 1 }
  const { list, waiting } = listOver(claimRow({ state: 'attention', startedAt: 999_999, problem }))
  expect(list.get()).toMatchObject([{ state: 'attention', since: 999_999, problem }])
  expect(waiting).toEqual([])
})

test('K8 of rows of an earlier version, which tell no start, the click counts', () => {
  const { list } = listOver(claimRow({ state: 'running', deviceAt: 940_000 }))
  expect(list.get()).toMatchObject([{ state: 'running', since: 940_000 }])
})

test('G9 a decision that the server refuses to hear of is listed with its reason', () => {
  const problem = { code: 'forbidden', message: 'Not yours.', retryable: false, at: 1 }
  const { list } = listOver(claimRow({ state: 'settled', own: true, undeliverable: problem }))
  expect(list.get()).toEqual([{ kind: 'refused', sessionId: 'session-1', token: 'confirm-1', problem }])
})

test('K8 a clock that is put back makes nobody wait longer than a minute', () => {
  const { clock, show, waiting } = listOver()
  clock.now = 0
  show(claimRow({ state: 'won', wonAt: 900_000 }))
  expect(waiting.map(({ ms }) => ms)).toEqual([60_000])
})

test('the list ends with its owner: no timer is left', () => {
  const { end, waiting, show } = listOver(claimRow({ state: 'won', wonAt: 970_000 }))
  expect(waiting).toHaveLength(1)
  end()
  show(claimRow({ state: 'won', wonAt: 980_000 }))
  expect(waiting).toEqual([])
})
