import type { Snapshot } from '../../../src/contract/session-snapshot.ts'
import { isOutcome } from '../../../src/protocol/claim-status.ts'
import type { Incarnation } from '../../../src/protocol/identity.ts'
import type { ClaimRecord } from './session-state.ts'

/**
 * The claims of one session as a restore leaves them, rule I5: of every token that is not finished in the backup nobody
 * knows what became of it since, so it is in doubt, also when nobody had claimed it yet. Nobody
 * asks for a token of a session that was deleted. Returns those in doubt.
 */
export function restoredClaims(
  snapshot: Snapshot | null,
  incarnation: Incarnation,
  claims: ReadonlyMap<string, ClaimRecord>,
): readonly ClaimRecord[] {
  const known = [...claims.values()]
    .filter((row) => row.incarnation === incarnation && !isOutcome(row.status))
    .map((row) => ({ ...row, doubt: true }))
  const unclaimed = (snapshot?.confirmations ?? [])
    .filter(({ token, status }) => !claims.has(token) && !isOutcome(status))
    .map((confirmation) => ({
      token: confirmation.token,
      status: confirmation.status,
      attempt: 0,
      doubt: true,
      incarnation,
      toolCallId: confirmation.toolCallId,
      confirmation,
      evidence: [],
    }))
  return [...known, ...unclaimed]
}
