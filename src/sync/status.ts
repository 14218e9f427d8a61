import type { MetaRow } from '../core/device-session.ts'
import type { Timers } from '../core/environment.ts'
import { createObservableValue, type Observable } from '../core/observable-value.ts'
import { hasUnsentUpdates, type LiveSessionIndex, type SessionIndex } from '../storage/session-index.ts'
import type { ConnectionState, ServerRefused } from './connection.ts'
import { hasUnsentClaims } from './dispatch-claims.ts'

/** So long nothing may be unsent, and nothing unfetched, before `synced` is said. */
export const STEADY_MS = 500

/**
 * `local`: there is no server. `degraded`: nothing survives this tab, `reason` says why. `synced`: the server durably has
 * everything, and this device has fetched everything that the server told of; so it has been for half a second, so that
 * an answer that streams is one `syncing` and not one for each token. `syncing` is said at once.
 */
export type SyncState = 'local' | 'offline' | 'connecting' | 'syncing' | 'synced' | 'needs-auth' | 'degraded' | 'error'

export interface RejoinStatus {
  readonly state: SyncState
  /** How many sessions have messages, metadata or decisions that the server has not acknowledged; none without a server. */
  readonly unsent: { readonly messages: number; readonly snapshots: number; readonly claims: number }
  /** How many changes the server refused; each is listed in `rejoin.attention`. */
  readonly refused: number
  /** Epoch ms by this device's clock. */
  readonly lastSyncedAt?: number
  /** Server clock minus device clock. */
  readonly clockOffsetMs: number
  /** With `error`: why nothing is exchanged with this server. */
  readonly code?: ServerRefused['code']
  /** For people. */
  readonly reason?: string
}

export interface StatusOptions {
  readonly index: LiveSessionIndex
  /** Absent: there is no server. */
  readonly connection?: Observable<ConnectionState>
  /** The server has, or may have, what is not fetched yet. */
  readonly behind?: Observable<boolean>
  /** Why nothing is stored on this device; absent when it is. */
  readonly degraded: Observable<string | undefined>
  readonly meta: () => MetaRow
  readonly now: () => number
  readonly timers: Timers
  readonly signal: AbortSignal
}

/** The truth about sync, in one object that changes only when it does (G9). */
export function createStatus(options: StatusOptions): Observable<RejoinStatus> {
  const { index, connection, behind, degraded, timers, signal } = options
  let lastSyncedAt: number | undefined
  let scheduled: unknown
  let steady = false
  let waiting: unknown
  const value = createObservableValue<RejoinStatus>(read())
  // What was just stored is not read yet: the status must not go on saying `synced` meanwhile.
  const stops = [index.subscribe(schedule), index.onUnrest(publish), degraded.subscribe(publish)]
  if (connection) stops.push(connection.subscribe(publish))
  if (behind) stops.push(behind.subscribe(publish))
  signal.addEventListener('abort', () => {
    for (const stop of stops) stop()
    timers.cancelFrame(scheduled)
    timers.clearTimeout(waiting)
  })
  waitUntilSteady()
  return { get: value.get, subscribe: value.subscribe }

  function schedule(): void {
    scheduled ??= timers.frame(() => {
      scheduled = undefined
      publish()
    })
  }

  function publish(): void {
    waitUntilSteady()
    const next = read()
    if (JSON.stringify(next) !== JSON.stringify(value.get())) value.set(next)
  }

  /** Whatever comes in between starts the wait anew. */
  function waitUntilSteady(): void {
    if (!isLevel()) {
      steady = false
      timers.clearTimeout(waiting)
      waiting = undefined
    } else if (!steady && !signal.aborted) {
      waiting ??= timers.setTimeout(() => {
        waiting = undefined
        steady = true
        publish()
      }, STEADY_MS)
    }
  }

  function isLevel(): boolean {
    const { messages, snapshots, claims } = countUnsent(index.get())
    const nothingUnsent = messages + snapshots + claims + countRefused(index.get()) === 0
    return nothingUnsent && index.isCurrent() && !behind?.get()
  }

  function read(): RejoinStatus {
    const unsent = connection ? countUnsent(index.get()) : NOTHING_UNSENT
    const refused = countRefused(index.get())
    const state = connection?.get() ?? { state: 'none' as const }
    const reason = degraded.get() ?? ('reason' in state ? state.reason : undefined)
    const shown = degraded.get() !== undefined ? 'degraded' : stateOf(state.state, steady)
    if (shown === 'synced') lastSyncedAt ??= options.now()
    if (shown === 'syncing') lastSyncedAt = undefined
    const since = shown === 'synced' || shown === 'offline' ? lastSyncedAt : undefined
    return {
      state: shown,
      unsent,
      refused,
      ...(since !== undefined && { lastSyncedAt: since }),
      clockOffsetMs: options.meta().clockOffsetMs,
      ...(shown === 'error' && 'code' in state && { code: state.code }),
      ...(reason !== undefined && { reason }),
    }
  }
}

function stateOf(connection: ConnectionState['state'], steady: boolean): SyncState {
  if (connection === 'none') return 'local'
  if (connection === 'online') return steady ? 'synced' : 'syncing'
  return connection
}

const NOTHING_UNSENT: RejoinStatus['unsent'] = { messages: 0, snapshots: 0, claims: 0 }

function countUnsent(index: SessionIndex): RejoinStatus['unsent'] {
  const counts = { messages: 0, snapshots: 0, claims: 0 }
  for (const session of index.values()) {
    if (session.deletes.some((removal) => !removal.problem)) counts.snapshots++
    if (!session.row || session.row.deleted) continue
    if (hasUnsentUpdates(session)) counts.messages++
    if ((session.row.dirty || session.row.sent || session.row.incoming) && !session.row.refused) counts.snapshots++
    if (hasUnsentClaims(session)) counts.claims++
  }
  return counts
}

function countRefused(index: SessionIndex): number {
  let count = 0
  for (const { row, claims, deletes } of index.values()) {
    count += deletes.filter((removal) => removal.problem).length
    if (row?.deleted) continue
    count += (row?.refused ? 1 : 0) + claims.filter((claim) => claim.undeliverable).length
  }
  return count
}
