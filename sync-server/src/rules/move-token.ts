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
  return write(state, claim, writer, context, (shown) => pruneConfirmations(withClaim(shown, claim)))
}

/** Writes a claim whose status stays; the raised cursor lets every device look at it. */
export function touchToken(
  state: SessionState,
  claim: ClaimRecord,
  writer: string,
  context: RuleContext,
): SessionChange {
  // Nobody is told of a claim under the session that took its id.
  if (claim.incarnation !== state.session?.incarnation) return { claims: [claim] }
  return write(state, claim, writer, context, (shown) => shown)
}

function write(
  state: SessionState,
  claim: ClaimRecord,
  writer: string,
  { now }: RuleContext,
  confirmationsAfter: (shown: readonly Confirmation[]) => readonly Confirmation[],
): SessionChange {
  const session = state.session ?? newSession(claim.incarnation)
  if (!state.snapshot) return { session, claims: [claim] }
  const cursor = session.cursor + 1
  return {
    session: { ...session, cursor, writeId: `${writer}.${claim.attempt}.${claim.status}` },
    snapshot: {
      ...state.snapshot,
      cursor,
      updatedAt: new Date(now).toISOString(),
      confirmations: confirmationsAfter(state.snapshot.confirmations),
    },
    claims: [claim],
  }
}

function withClaim(confirmations: readonly Confirmation[], { token, confirmation }: ClaimRecord) {
  if (!confirmations.some((each) => each.token === token)) return [...confirmations, confirmation]
  return confirmations.map((each) => (each.token === token ? { ...each, status: confirmation.status } : each))
}
