import type { ClaimAnswer } from '../protocol/put-claim.ts'
import { mergeClaimViews } from './claim-order.ts'
import { claimById, isLive } from './claim-rows.ts'
import type { ClaimRow, Decided, DeviceSession } from './device-session.ts'
import { isOver } from './enter-epoch.ts'
import { addLeft } from './left-tokens.ts'

/**
 * The restored server's answer to an assertion, rule I5. Recorded: the claim goes on as if nothing had been. Otherwise
 * somebody else stands for the token now, or a person cleared the doubt: the permission is over, and what it did is told
 * as its settlement. False: nothing was said, it is to be asserted again.
 */
export function takeAssertion(session: DeviceSession, claimId: string, answer: ClaimAnswer): Decided<boolean> {
  const claim = claimById(session, claimId)
  const { row } = session
  if (!row || !claim || row.incarnation !== answer.incarnation || isOver(row, answer.epoch)) return { result: false }
  if (answer.result === 'refused' && answer.problem?.retryable) return { result: false }
  const heard = {
    ...row,
    confirmed: row.confirmed || answer.result !== 'refused',
    left: addLeft(row.left, [answer.claim], answer.epoch),
    claims: mergeClaimViews(row.claims, [answer.claim]),
  }
  if (answer.result === 'recorded') return { change: { row: heard }, result: true }
  const problem = answer.problem && { problem: answer.problem }
  const over: ClaimRow = isLive(claim)
    ? { ...claim, state: 'taken-over', ...problem }
    : { ...claim, told: answer.result === 'refused', ...problem }
  return { change: { row: heard, putClaims: [over] }, result: true }
}
