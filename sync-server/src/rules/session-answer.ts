import { isOutcome } from '../../../src/protocol/claim-status.ts'
import type { ClaimView } from '../../../src/protocol/claim-view.ts'
import { formatETag } from '../../../src/protocol/etag.ts'
import type { Epoch, ETag, Incarnation } from '../../../src/protocol/identity.ts'
import type { Lease, SessionAnswer } from '../../../src/protocol/session-answer.ts'
import { lateSettlements } from './evidence.ts'
import { commonOf } from './reply.ts'
import type { ClaimRecord, RuleContext, SessionRecord, SessionState, TurnRecord } from './session-state.ts'

/** More views than that are not sent: the envelope holds 1000 confirmations, and old attempts of settled tokens are few. */
const MAX_VIEWS = 2000

/** Where the session stands after `state`; `before` is the state that the request's transaction met. */
export function sessionAnswer(
  before: SessionState,
  state: SessionState,
  incarnation: Incarnation,
  context: RuleContext,
): SessionAnswer {
  return {
    ...commonOf(context),
    incarnation: state.session?.incarnation ?? incarnation,
    etag: etagOf(state.session, context.epoch),
    etagBefore: etagOf(before.session, context.epoch),
    snapshot: state.snapshot,
    head: state.session?.head ?? 0,
    lastWriteId: state.lastWriteId,
    claims: claimViews(state),
    lease: liveLease(state.lease, context.now),
  }
}

/** `null` while there is no snapshot: create-only is still open, rule I1. */
export function etagOf(
  session: Pick<SessionRecord, 'incarnation' | 'cursor' | 'writeId'> | null,
  epoch: Epoch,
): ETag | null {
  if (!session?.writeId) return null
  return formatETag({
    epoch,
    incarnation: session.incarnation,
    cursor: session.cursor,
    writeId: session.writeId,
  })
}

/** What everybody may know of a claim: not its input, and of its evidence only what ran beside what it stands for. */
export function claimView(claim: ClaimRecord): ClaimView {
  const late = lateSettlements(claim)
  const { token, status, attempt, claimId, device, label, sub, at, doubt } = claim
  return {
    token,
    status,
    attempt,
    ...(claimId !== undefined && { claimId }),
    ...(device !== undefined && { device }),
    ...(label !== undefined && { label }),
    ...(sub !== undefined && { sub }),
    ...(at !== undefined && { at }),
    doubt,
    ...(late.length > 0 && { late }),
  }
}

/** All unfinished claims of the live session, all that were asked more than once, and all that were settled twice. */
function claimViews({ session, claims }: SessionState): readonly ClaimView[] {
  const views: ClaimView[] = []
  for (const claim of claims.values()) {
    if (claim.incarnation !== session?.incarnation) continue
    const view = claimView(claim)
    if (!isOutcome(claim.status) || claim.attempt > 0 || view.late) views.push(view)
  }
  return views.slice(0, MAX_VIEWS)
}

export function liveLease(lease: TurnRecord | null, now: number): Lease | null {
  if (!lease || lease.expiresAt <= now) return null
  return { turnId: lease.turnId, device: lease.device, expiresAt: lease.expiresAt }
}
