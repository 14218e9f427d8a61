import { isOutcome, outcomeOf } from '../../../src/protocol/claim-status.ts'
import type { PutClaim } from '../../../src/protocol/put-claim.ts'
import { type ClaimOutcome, isHolder, viewOf } from './claim-reply.ts'
import { addEvidence } from './evidence.ts'
import { callConflict } from './grant-claim.ts'
import { moveToken } from './move-token.ts'
import { claimView } from './session-answer.ts'
import type { ClaimRecord, RuleContext, SessionState } from './session-state.ts'

export type Assertion = Extract<PutClaim, { readonly op: 'assert' }>

/**
 * After a restore a device says what it was given before, rule I5. It holds the token again unless the server knows
 * better: somebody else of the same attempt, or a later attempt. What it wanted comes with it, because the backup may
 * show the token as pending, or as another device guessed it, or not at all.
 */
export function assertClaim(
  state: SessionState,
  row: ClaimRecord | undefined,
  request: Assertion,
  context: RuleContext,
): ClaimOutcome {
  if (!row) return assertUnknown(state, request, context)
  const mine = isHolder(row, request.claimId, context) && row.attempt === request.attempt
  if (mine && !row.doubt) return { result: 'recorded', claim: claimView(row) }
  if (!mine && !isFree(row, request)) return { result: 'lost', claim: claimView(row) }
  return hold(state, row, request, context)
}

/** A backup from before the proposal, or from before any device claimed it. */
function assertUnknown(state: SessionState, request: Assertion, context: RuleContext): ClaimOutcome {
  const { confirmation, incarnation } = request
  const { token } = confirmation
  const stored = state.snapshot?.confirmations.find((each) => each.token === token)
  const objection = callConflict(state, stored, request)
  if (objection) return { result: 'refused', claim: viewOf(state, token), objection }
  const row: ClaimRecord = {
    token,
    status: stored?.status ?? 'pending',
    attempt: request.attempt,
    doubt: false,
    incarnation: state.session?.incarnation ?? incarnation,
    toolCallId: confirmation.toolCallId,
    confirmation: stored ?? confirmation,
    evidence: [],
  }
  if (stored && !isFree(row, request)) return { result: 'lost', claim: viewOf(state, token) }
  return hold(state, row, request, context)
}

/** Nobody is known to hold it, or only of an attempt before: this one the backup has forgotten. */
function isFree({ attempt, claimId, status }: ClaimRecord, request: Assertion): boolean {
  if (request.attempt !== attempt) return request.attempt > attempt
  return claimId === undefined && (!isOutcome(status) || status === outcomeOf(request.want))
}

function hold(state: SessionState, row: ClaimRecord, request: Assertion, context: RuleContext): ClaimOutcome {
  const { claimId, attempt, want } = request
  const { device, label, sub, now } = context
  const ended = attempt === row.attempt && isOutcome(row.status)
  const status = ended ? row.status : want
  const held: ClaimRecord = {
    ...addEvidence(row, 'asserted', request, context),
    status,
    confirmation: { ...row.confirmation, status },
    attempt,
    claimId,
    device,
    label,
    sub,
    at: row.at ?? now,
    doubt: false,
    settledAt: ended ? row.settledAt : undefined,
  }
  return { result: 'recorded', claim: claimView(held), change: moveToken(state, held, claimId, context) }
}
