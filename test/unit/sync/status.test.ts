import { expect, test } from 'vitest'
import type { ClaimRow, MetaRow, SessionRow } from '../../../src/core/device-session.ts'
import { createObservableValue } from '../../../src/core/observable-value.ts'
import type { SessionIndex } from '../../../src/storage/session-index.ts'
import type { ConnectionState } from '../../../src/sync/connection.ts'
import { createRemotePositions } from '../../../src/sync/remote-positions.ts'
import { createStatus, STEADY_MS } from '../../../src/sync/status.ts'
import { claimRow, row } from '../core/sessions.ts'
import { createTestTimers } from '../storage/test-environment.ts'

const meta: MetaRow = { device: 'd', label: 'D', account: 'acme', realm: 'default', since: 0, clockOffsetMs: 0 }

/** A status over one session, online, with everything fetched. */
function statusOver(change: Partial<SessionRow> = {}, ...claims: readonly ClaimRow[]) {
  return openStatus({ server: true }, change, ...claims)
}

function openStatus({ server }: { server: boolean }, change: Partial<SessionRow>, ...claims: readonly ClaimRow[]) {
  const index = createObservableValue<SessionIndex>(new Map())
  const unrest = createObservableValue({})
  const timers = createTestTimers(1)
  const connection = createObservableValue<ConnectionState>({ state: 'online' })
  const positions = createRemotePositions()
  positions.catchUp()
  const lifetime = new AbortController()
  let current = true
  const show = (shown: Partial<SessionRow>, ...with_: readonly ClaimRow[]) => {
    current = true
    index.set(new Map([['s', { sessionId: 's', row: row(shown), claims: with_, deletes: [], lastLocalSeq: 0 }]]))
  }
  show(change, ...claims)
  const status = createStatus({
    index: {
      ...index,
      ready: Promise.resolve(),
      isCurrent: () => current,
      onUnrest: unrest.subscribe,
      settled: async () => {},
    },
    ...(server && { connection, behind: positions.behind }),
    degraded: createObservableValue<string | undefined>(undefined),
    meta: () => meta,
    now: () => 1000,
    // A frame is at once here: what counts is what is shown in the end.
    timers: { ...timers, frame: (run) => run(), cancelFrame: () => {} },
    signal: lifetime.signal,
  })
  const told: string[] = []
  status.subscribe(() => told.push(status.get().state))
  return {
    status,
    told,
    timers,
    connection,
    positions,
    show,
    /** Something is stored here, and read a moment later. */
    store: (shown: Partial<SessionRow>) => {
      current = false
      unrest.set({})
      show(shown)
    },
    end: () => lifetime.abort(),
  }
}

test('G9 it is synced when nothing was unsent for half a second, and syncing at once when something is', () => {
  const { status, timers, store } = statusOver()
  expect(status.get().state).toBe('syncing')
  timers.end(STEADY_MS)
  expect(status.get()).toMatchObject({ state: 'synced', lastSyncedAt: 1000 })
  store({ dirty: true })
  expect(status.get()).toMatchObject({ state: 'syncing', unsent: { snapshots: 1 } })
  store({})
  expect(status.get().state).toBe('syncing')
  timers.end(STEADY_MS)
  expect(status.get().state).toBe('synced')
})

test('G9 while an answer streams it says syncing once, and not synced between any two tokens', () => {
  const { status, told, timers, store } = statusOver()
  timers.end(STEADY_MS)
  for (let token = 0; token < 20; token++) {
    store({ dirty: true })
    store({})
  }
  expect(told.filter((state, at) => state !== told[at - 1])).toEqual(['synced', 'syncing'])
  expect(timers.waiting()).toEqual([STEADY_MS])
  timers.end(STEADY_MS)
  expect(status.get().state).toBe('synced')
})

test('G9 it is not synced while the feed named a session whose newer state was not fetched', () => {
  const { status, timers, positions } = statusOver()
  timers.end(STEADY_MS)
  positions.set('elsewhere', { etag: null, head: 3 })
  expect(status.get()).toMatchObject({ state: 'syncing', unsent: { messages: 0, snapshots: 0, claims: 0 } })
  expect(timers.waiting()).toEqual([])
  positions.delete('elsewhere')
  timers.end(STEADY_MS)
  expect(status.get().state).toBe('synced')
})

test('G9 back online it is not synced before the feed was read again', () => {
  const { status, timers, connection, positions, told } = statusOver()
  timers.end(STEADY_MS)
  positions.lose()
  connection.set({ state: 'offline', reason: 'no network' })
  expect(status.get().state).toBe('offline')
  connection.set({ state: 'online' })
  expect(status.get().state).toBe('syncing')
  expect(timers.waiting()).toEqual([])
  positions.catchUp()
  timers.end(STEADY_MS)
  expect(status.get().state).toBe('synced')
  expect(told).not.toContain('error')
})

test('G9 a decision that the server refuses to hear of counts as refused, not as unsent', () => {
  const problem = { code: 'forbidden', message: 'No.', retryable: false, at: 1 }
  const { status, timers } = statusOver({}, claimRow({ state: 'settled', own: true, undeliverable: problem }))
  expect(status.get()).toMatchObject({ state: 'syncing', refused: 1, unsent: { claims: 0 } })
  expect(timers.waiting()).toEqual([])
})

test('the status ends with its owner: no timer is left', () => {
  const { timers, end, store } = statusOver()
  expect(timers.waiting()).toEqual([STEADY_MS])
  end()
  store({})
  expect(timers.waiting()).toEqual([])
})

test('G9 without a server nothing counts as unsent', () => {
  const { status, end } = openStatus({ server: false }, { dirty: true }, claimRow({ state: 'running', own: true }))
  expect(status.get()).toMatchObject({ state: 'local', unsent: { messages: 0, snapshots: 0, claims: 0 } })
  end()
})
