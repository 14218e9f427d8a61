import type { MetaRow } from '../core/device-session.ts'
import type { Timers } from '../core/environment.ts'
import { createObservableValue, type Observable } from '../core/observable-value.ts'
import { hasUnsentUpdates, type LiveSessionIndex, type SessionIndex } from '../storage/session-index.ts'
import type { ConnectionState } from './connection.ts'
import { hasUnsentClaims } from './dispatch-claims.ts'

/** `local`: there is no server. `degraded`: nothing survives this tab, `reason` says why. `synced`: the server durably has everything. */
export type SyncState = 'local' | 'offline' | 'connecting' | 'syncing' | 'synced' | 'needs-auth' | 'degraded' | 'error'

export interface RejoinStatus {
  readonly state: SyncState
  /** How many sessions have messages, metadata or decisions that the server has not acknowledged. */
  readonly unsent: { readonly messages: number; readonly snapshots: number; readonly claims: number }
  /** How many changes the server refused; each is listed in `rejoin.attention`. */
  readonly refused: number
  /** Epoch ms by this device's clock. */
  readonly lastSyncedAt?: number
  /** Server clock minus device clock. */
  readonly clockOffsetMs: number
  /** For people. */
  readonly reason?: string
}

export interface StatusOptions {
  readonly index: LiveSessionIndex
  /** Absent: there is no server. */
  readonly connection?: Observable<ConnectionState>
  /** Why nothing is stored on this device; absent when it is. */
  readonly degraded: Observable<string | undefined>
  readonly meta: () => MetaRow
  readonly now: () => number
  readonly timers: Timers
  readonly signal: AbortSignal
}

/** The truth about sync, in one object that changes only when it does (G9). */
export function createStatus(options: StatusOptions): Observable<RejoinStatus> {
  const { index, connection, degraded, timers, signal } = options
  let lastSyncedAt: number | undefined
  let scheduled: unknown
  const value = createObservableValue<RejoinStatus>(read())
  // What was just stored is not read yet: the status must not go on saying `synced` meanwhile.
  const stops = [index.subscribe(schedule), index.onUnrest(publish), degraded.subscribe(publish)]
  if (connection) stops.push(connection.subscribe(publish))
  signal.addEventListener('abort', () => {
    for (const stop of stops) stop()
    timers.cancelFrame(scheduled)
  })
  return { get: value.get, subscribe: value.subscribe }

  function schedule(): void {
    scheduled ??= timers.frame(() => {
      scheduled = undefined
      publish()
    })
  }

  function publish(): void {
    const next = read()
    if (JSON.stringify(next) !== JSON.stringify(value.get())) value.set(next)
  }

  function read(): RejoinStatus {
    const unsent = countUnsent(index.get())
    const refused = countRefused(index.get())
    const state = connection?.get() ?? { state: 'none' as const }
    const nothingUnsent = unsent.messages + unsent.snapshots + unsent.claims === 0
    const reason = degraded.get() ?? ('reason' in state ? state.reason : undefined)
    const level = nothingUnsent && refused === 0 && index.isCurrent()
    const shown = degraded.get() !== undefined ? 'degraded' : stateOf(state.state, level)
    if (shown === 'synced') lastSyncedAt ??= options.now()
    if (shown === 'syncing') lastSyncedAt = undefined
    const since = shown === 'synced' || shown === 'offline' ? lastSyncedAt : undefined
    return {
      state: shown,
      unsent,
      refused,
      ...(since !== undefined && { lastSyncedAt: since }),
      clockOffsetMs: options.meta().clockOffsetMs,
      ...(reason !== undefined && { reason }),
    }
  }
}

function stateOf(connection: ConnectionState['state'], level: boolean): SyncState {
  if (connection === 'none') return 'local'
  if (connection === 'online') return level ? 'synced' : 'syncing'
  return connection
}

function countUnsent(index: SessionIndex): RejoinStatus['unsent'] {
  const counts = { messages: 0, snapshots: 0, claims: 0 }
  for (const session of index.values()) {
    if (session.deletes.length > 0) counts.snapshots++
    if (!session.row || session.row.deleted) continue
    if (hasUnsentUpdates(session)) counts.messages++
    if ((session.row.dirty || session.row.sent || session.row.incoming) && !session.row.refused) counts.snapshots++
    if (hasUnsentClaims(session)) counts.claims++
  }
  return counts
}

function countRefused(index: SessionIndex): number {
  return [...index.values()].filter(({ row }) => row?.refused && !row.deleted).length
}
