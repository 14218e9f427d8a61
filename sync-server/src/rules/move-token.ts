import type { Confirmation } from '../../../src/contract/session-snapshot.ts'
import { pruneConfirmations } from '../../../src/core/prune-confirmations.ts'
import { newSession } from './incarnation.ts'
import type { ClaimRecord, RuleContext, SessionChange, SessionState } from './session-state.ts'

/**
 * Writes a claim, and its status into the stored snapshot: a write of its own that raises the cursor by one, rule R6.
 * Without a snapshot there is nothing to raise; the first one that is put will show the claim, rule R7.
 */
export function moveToken(
  state: SessionState,
  claim: ClaimRecord,
  writer: string,
  context: RuleContext,
): SessionChange {
  const session = state.session ?? newSession(claim.incarnation)
  if (!state.snapshot) return { session, claims: [claim] }
  const cursor = session.cursor + 1
  return {
    session: { ...session, cursor, writeId: `${writer}.${claim.attempt}.${claim.status}` },
    snapshot: {
      ...state.snapshot,
      cursor,
      updatedAt: new Date(context.now).toISOString(),
      confirmations: pruneConfirmations(withClaim(state.snapshot.confirmations, claim)),
    },
    claims: [claim],
  }
}

function withClaim(confirmations: readonly Confirmation[], { token, confirmation }: ClaimRecord) {
  if (!confirmations.some((each) => each.token === token)) return [...confirmations, confirmation]
  return confirmations.map((each) => (each.token === token ? { ...each, status: confirmation.status } : each))
}
