import type { DeviceChange, DeviceSession } from '../../../src/core/device-session.ts'

/** What a database does with a decision: the session as the next transaction reads it. */
export function applyChange(session: DeviceSession, change: DeviceChange): DeviceSession {
  const put = new Map(change.putClaims?.map((claim) => [claim.claimId, claim]))
  const removed = new Set(change.removeClaims)
  const kept = session.claims
    .filter(({ claimId }) => put.has(claimId) || !removed.has(claimId))
    .map((claim) => put.get(claim.claimId) ?? claim)
  const known = new Set(kept.map(({ claimId }) => claimId))
  return {
    row: change.row === undefined ? session.row : (change.row ?? undefined),
    claims: [...kept, ...[...put.values()].filter(({ claimId }) => !known.has(claimId))],
    deletes: session.deletes,
  }
}
