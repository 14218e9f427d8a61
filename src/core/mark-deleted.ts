import type { Decided, DeviceSession } from './device-session.ts'
import { incarnationsOf } from './save-snapshot.ts'

/**
 * The server says that this incarnation was deleted (G8). Nothing unsynced: the rows go. Otherwise they stay, closed for
 * writing, until somebody exports or discards them.
 */
export function markDeleted(
  { row, claims }: DeviceSession,
  now: number,
  unsentUpdates: boolean,
): Decided<'gone' | 'kept'> {
  if (!row) return { result: 'gone' }
  // A run whose outcome nobody knows yet, and a question about one, outlive the session (K6, K8).
  const ranHere = claims.some(
    ({ state, told }) => state === 'running' || state === 'attention' || (state === 'settled' && !told),
  )
  const unsynced = row.dirty || unsentUpdates || ranHere
  if (unsynced) return { change: { row: { ...row, deleted: { at: now, unsynced } } }, result: 'kept' }
  const removeClaims = claims.map((claim) => claim.claimId)
  return { change: { row: null, removeClaims, removeUpdates: incarnationsOf(row) }, result: 'gone' }
}
