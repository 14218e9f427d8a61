import type { Confirmation } from '../../../src/contract/session-snapshot.ts'
import type { PutClaim } from '../../../src/protocol/put-claim.ts'
import { type ClaimOutcome, isHolder, viewOf } from './claim-reply.ts'
import { claimsUnder } from './incarnation.ts'
import { moveToken } from './move-token.ts'
import type { Objection } from './reply.ts'
import { claimView } from './session-answer.ts'
import type { ClaimRecord, RuleContext, SessionState } from './session-state.ts'

export type ClaimRequest = Extract<PutClaim, { readonly op: 'claim' }>

/**
 * Who may run a decision, rule K9: the first `claimId` wins, and the same one is told so again, until it was released or
 * taken over. Expiry is judged by the server's clock, save for a token that the server never knew: that one was decided
 * by its device alone, maybe long ago, and its effect may have happened.
 */
export function grantClaim(state: SessionState, request: ClaimRequest, context: RuleContext): ClaimOutcome {
  const { token } = request.confirmation
  const row = state.claims.get(token)
  const held = row && answerFromRow(row, request, context)
  if (held) return held

  const stored = state.snapshot?.confirmations.find((each) => each.token === token)
  const known: Confirmation | undefined = row?.confirmation ?? stored
  if (!row && stored && stored.status !== 'pending') {
    return { result: stored.status === 'expired' ? 'expired' : 'lost', claim: viewOf(state, token) }
  }
  const objection = callConflict(state, known, request)
  if (objection) return { result: 'refused', claim: viewOf(state, token), objection }

  const fresh: ClaimRecord = {
    token,
    status: request.want,
    attempt: row?.attempt ?? 0,
    doubt: false,
    incarnation: state.session?.incarnation ?? request.incarnation,
    toolCallId: request.confirmation.toolCallId,
    confirmation: { ...(known ?? request.confirmation), status: request.want },
    evidence: row?.evidence ?? [],
  }
  if (!row && request.leftIn !== null && request.leftIn !== context.epoch) return doubt(state, fresh, context)
  if (known || request.leftIn !== null) {
    const expired = fresh.confirmation.expiresAt <= context.now
    if (request.want === 'expiring' && !expired) {
      const early: Objection = { code: 'not-expired', message: "By the server's clock it has not expired yet." }
      return { result: 'refused', claim: viewOf(state, token), objection: early }
    }
    if (request.want === 'approving' && expired) return expire(state, fresh, context)
  }
  const { claimId } = request
  const { device, label, sub, now } = context
  const won: ClaimRecord = { ...fresh, claimId, device, label, sub, at: now }
  return { result: 'won', claim: claimView(won), change: moveToken(state, won, claimId, context) }
}

/** What a row that is not up for grabs says; `undefined` for one that is pending again. */
function answerFromRow(row: ClaimRecord, request: ClaimRequest, context: RuleContext): ClaimOutcome | undefined {
  const claim = claimView(row)
  if (row.doubt) return { result: 'refused', claim, objection: restored }
  if (isHolder(row, request.claimId, context)) return { result: 'won', claim }
  if (row.status === 'expired') return { result: 'expired', claim }
  if (row.status !== 'pending' || gaveUp(row, request.claimId)) return { result: 'lost', claim }
  return undefined
}

function gaveUp(row: ClaimRecord, claimId: string): boolean {
  return row.evidence.some((it) => it.claimId === claimId && (it.how === 'released' || it.how === 'taken-over'))
}

/** A tool call has one confirmation. */
export function callConflict(
  state: SessionState,
  known: Confirmation | undefined,
  { confirmation, incarnation }: Pick<ClaimRequest, 'confirmation' | 'incarnation'>,
): Objection | undefined {
  const { token, toolCallId } = confirmation
  const claims = claimsUnder(state.claims, state.session?.incarnation ?? incarnation)
  const other = known
    ? known.toolCallId !== toolCallId
    : state.snapshot?.confirmations.some((each) => each.toolCallId === toolCallId) ||
      claims.some((each) => each.toolCallId === toolCallId && each.token !== token)
  if (!other) return undefined
  return { code: 'snapshot-invalid', message: `The tool call ${toolCallId} has another confirmation already.` }
}

/** A restore lost who held it, rule I5: nobody gets it before the holder asserts or a person clears, and none is shown. */
function doubt(state: SessionState, fresh: ClaimRecord, context: RuleContext): ClaimOutcome {
  const status = 'pending'
  const doubtful: ClaimRecord = { ...fresh, status, confirmation: { ...fresh.confirmation, status }, doubt: true }
  const change = moveToken(state, doubtful, 'server', context)
  return { result: 'refused', claim: claimView(doubtful), change, objection: restored }
}

/** Too late: the token ends here, and nobody holds it. */
function expire(state: SessionState, fresh: ClaimRecord, context: RuleContext): ClaimOutcome {
  const status = 'expired'
  const expired: ClaimRecord = {
    ...fresh,
    status,
    confirmation: { ...fresh.confirmation, status },
    settledAt: context.now,
  }
  return { result: 'expired', claim: claimView(expired), change: moveToken(state, expired, 'server', context) }
}

export const restored: Objection = {
  code: 'restored',
  message: 'The server was restored from a backup and does not know whether this was decided.',
  hint: 'The device that held it asserts, or a person clears the doubt.',
}
