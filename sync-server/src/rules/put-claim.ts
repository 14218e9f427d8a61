import type { ClaimAnswer, PutClaim } from '../../../src/protocol/put-claim.ts'
import type { SessionAnswer } from '../../../src/protocol/session-answer.ts'
import { type ClaimOutcome, claimReply, viewOf } from './claim-reply.ts'
import { grantClaim } from './grant-claim.ts'
import { foreignIncarnation } from './incarnation.ts'
import type { Reply } from './reply.ts'
import { resolveClaim } from './resolve-claim.ts'
import { etagOf, sessionAnswer } from './session-answer.ts'
import { applyChange, type Decided, type RuleContext, type SessionState } from './session-state.ts'
import { storeSnapshot } from './store-snapshot.ts'

/**
 * `PUT /v1/sessions/:id/claims/:token`, rule K9. With `{ ifMatch, snapshot, writeId }` the claim and the snapshot commit
 * together or not at all: 412 when the session stands elsewhere.
 */
export function putClaim(
  state: SessionState,
  token: string,
  request: PutClaim,
  context: RuleContext,
): Decided<Reply<ClaimAnswer | SessionAnswer>> {
  const foreign = foreignIncarnation(state, request.incarnation, context)
  if (foreign) return { result: foreign }
  const outcome =
    request.op === 'claim' ? grantClaim(state, request, context) : resolveClaim(state, token, request, context)
  const together = withSnapshot(state, request, outcome, context)
  if (together === 'elsewhere') {
    return { result: { status: 412, body: sessionAnswer(state, state, request.incarnation, context) } }
  }
  return claimReply(state, request.incarnation, together, context)
}

/** The outcome with the snapshot that came along. A claim that changes nothing brings none: it is an answer again. */
function withSnapshot(
  state: SessionState,
  request: PutClaim,
  outcome: ClaimOutcome,
  context: RuleContext,
): ClaimOutcome | 'elsewhere' {
  const { change } = outcome
  const given = outcome.result === 'won' || outcome.result === 'recorded'
  if (!change?.claims || !given || !('snapshot' in request)) return outcome
  const { snapshot, ifMatch, writeId, incarnation } = request
  if (!snapshot || !ifMatch || !writeId) return outcome
  if (ifMatch !== etagOf(state.session, context.epoch)) return 'elsewhere'
  const claimed = applyChange(state, { claims: change.claims })
  const stored = storeSnapshot(claimed, { incarnation, snapshot, writeId }, context)
  if (!stored.ok) {
    return { result: 'refused', claim: viewOf(state, outcome.claim.token), objection: stored.objection }
  }
  return { ...outcome, change: { ...stored.change, claims: [...change.claims, ...(stored.change.claims ?? [])] } }
}
