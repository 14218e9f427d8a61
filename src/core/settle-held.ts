import type { Snapshot } from '../contract/session-snapshot.ts'
import type { Outcome } from '../protocol/claim-status.ts'
import { isLive } from './claim-rows.ts'
import type { ClaimRow, ClaimState, DeviceChange, SessionRow } from './device-session.ts'
import { withStatus } from './overlay-statuses.ts'

/** Permission was given here, and no outcome is recorded yet. */
const HELD: ReadonlySet<ClaimState> = new Set(['running', 'attention', 'released', 'taken-over'])

export function isHeld(claim: ClaimRow): boolean {
  return HELD.has(claim.state)
}

/**
 * Records the outcome of a decision that this device had the permission for, rule K6: forgetting an effect that happened
 * is the worse error. When the attempt was given up meanwhile, the token's status belongs to a later one, and the server
 * keeps the outcome as evidence, rule K8.
 */
export function settleHeld(row: SessionRow, claim: ClaimRow, outcome: Outcome): SettledClaim {
  const settled = asSettled(claim, outcome)
  const putClaims = [settled]
  if (!isLive(claim) || !row.local) return { change: { putClaims }, settled }
  const local: Snapshot = {
    ...row.local,
    cursor: row.local.cursor + 1,
    confirmations: withStatus(row.local.confirmations, claim.token, outcome),
  }
  return { change: { row: { ...row, local, dirty: true }, putClaims }, settled }
}

export function asSettled(claim: ClaimRow, outcome: Outcome): ClaimRow {
  return { ...claim, state: 'settled', outcome, told: false, problem: undefined }
}

export interface SettledClaim {
  readonly change: DeviceChange
  readonly settled: ClaimRow
}
