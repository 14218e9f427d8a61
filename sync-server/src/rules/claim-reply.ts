import type { ClaimView } from '../../../src/protocol/claim-view.ts'
import type { ClaimAnswer, ClaimResult } from '../../../src/protocol/put-claim.ts'
import { type Objection, problemOf, type Reply } from './reply.ts'
import { claimView, sessionAnswer } from './session-answer.ts'
import {
  applyChange,
  type ClaimRecord,
  type Decided,
  type RuleContext,
  type SessionChange,
  type SessionState,
} from './session-state.ts'

export interface ClaimOutcome {
  readonly result: ClaimResult
  /** As it is after the change. */
  readonly claim: ClaimView
  readonly change?: SessionChange
  readonly objection?: Objection
}

/** 200 for `won` and `recorded`, 409 for the rest; always with where the session stands now. */
export function claimReply(
  state: SessionState,
  incarnation: string,
  { result, claim, change, objection }: ClaimOutcome,
  context: RuleContext,
): Decided<Reply<ClaimAnswer>> {
  const next = change ? applyChange(state, change) : state
  const body: ClaimAnswer = {
    ...sessionAnswer(state, next, incarnation, context),
    result,
    claim,
    ...(objection && { problem: problemOf(context, objection.code, objection.message, objection.hint) }),
  }
  const status = result === 'won' || result === 'recorded' ? 200 : 409
  return { ...(change && { change }), result: { status, body } }
}

/** The view of a token, also of one that nobody claimed. */
export function viewOf(state: SessionState, token: string): ClaimView {
  const claim = state.claims.get(token)
  if (claim) return claimView(claim)
  const shown = state.snapshot?.confirmations.find((each) => each.token === token)
  return { token, status: shown?.status ?? 'pending', attempt: 0, doubt: false }
}

/** A holder is a claimId on its device: the id alone is in every view, and must not be worth anything elsewhere. */
export function isHolder(claim: ClaimRecord, claimId: string, { device }: RuleContext): boolean {
  return claim.claimId === claimId && claim.device === device
}
