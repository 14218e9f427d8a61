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
  const unsynced = row.dirty || unsentUpdates || claims.some((claim) => claim.state === 'settled' && !claim.told)
  if (unsynced) return { change: { row: { ...row, deleted: { at: now, unsynced } } }, result: 'kept' }
  const removeClaims = claims.map((claim) => claim.claimId)
  return { change: { row: null, removeClaims, removeUpdates: incarnationsOf(row) }, result: 'gone' }
}
