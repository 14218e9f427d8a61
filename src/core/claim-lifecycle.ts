import type { ConfirmationStatus, Snapshot } from '../contract/session-snapshot.ts'
import type { Outcome } from '../protocol/claim-status.ts'
import type { Epoch } from '../protocol/identity.ts'
import type { Problem } from '../protocol/problem.ts'
import type { ClaimAnswer } from '../protocol/put-claim.ts'
import { claimView, laterStatus, mergeClaimViews } from './claim-order.ts'
import { claimById, deviceAttempt, isLive, isUnresolved } from './claim-rows.ts'
import { initialState } from './conversation-chain.ts'
import type { Base, ClaimRow, Decided, DeviceSession, SessionRow } from './device-session.ts'
import { isOver } from './enter-epoch.ts'
import { addLeft, hasLeft } from './left-tokens.ts'
import { overlayAsked, withStatus } from './overlay-statuses.ts'
import { sameContent } from './same-content.ts'
import { isHeld, settleHeld } from './settle-held.ts'

/*
 * The life of one decision on this device. Every arrow is one strict transaction that checks the state it leaves.
 *
 * waiting ──► sent ──► won ──► running ──► settled (told)
 *   │          │       │         ├ lock free, or nothing seen: attention ──► settled · released
 *   │          │       │         └──► taken over by a person ──► settled · released, if it had begun to run
 *   │          │       └ a person gives it back: attention
 *   │          └──► lost · expired · refused
 *   └► withdrawn                 born waiting (offline), sent (online) or running (own decision)
 */

/** What the tab whose save asked for the claim wants stored if it wins. */
export interface AskedSave {
  readonly snapshot: Snapshot
  readonly expectedCursor: number | undefined
}

export type ClaimAnswered =
  /** Permission to run, given by this transaction and to nobody else. */
  | { readonly kind: 'run' }
  /** Won, but what was asked can no longer be stored as it is: it runs from its row. */
  | { readonly kind: 'won' }
  | { readonly kind: 'lost' }
  | { readonly kind: 'refused' }
  /** The row has moved on: another tab took the answer. */
  | { readonly kind: 'stale' }

/**
 * Takes the server's answer to a claim, rule K4. Everything in it but this claim is `applyAnswer`'s, which the caller
 * hands the same answer afterwards. `deviceNow`: epoch ms by this device's clock.
 */
export function acceptClaimAnswer(
  session: DeviceSession,
  claimId: string,
  answer: ClaimAnswer,
  asked: AskedSave | undefined,
  deviceNow: number,
): Decided<ClaimAnswered> {
  const known = claimById(session, claimId)
  const { row } = session
  if (!known || !row || row.deleted || row.incarnation !== answer.incarnation || isOver(row, answer.epoch)) return stale
  const { sub = known.sub } = answer.claim
  const claim = answer.result === 'won' ? { ...known, sub } : known
  if (claim.own) return deliverOwn(row, claim, answer)
  const heard = hear(row, answer)
  if (claim.state !== 'sent' && !(asked && claim.state === 'won')) return stale
  // Given up or taken over since: asked again, the server says so.
  if ((claimView(heard.claims, claim.token)?.attempt ?? 0) > answer.claim.attempt) return stale
  switch (answer.result) {
    case 'won':
      return asked && row.local?.cursor === asked.expectedCursor
        ? startAsked(heard, { ...claim, startedAt: deviceNow }, answer, asked.snapshot)
        : move(heard, { ...claim, state: 'won', attempt: answer.claim.attempt, wonAt: deviceNow }, 'won')
    case 'recorded':
      return stale
    case 'lost':
    case 'expired':
      return move(showStatus(session, heard, claim.token), { ...claim, state: answer.result }, 'lost')
    case 'refused':
      return move(heard, withProblem({ ...claim, state: 'refused' }, answer), 'refused')
  }
}

/**
 * A dispatch of a claim starts: from here on a queued one is possibly dispatched and may only be answered, rule K3, and
 * the token of an own decision has left this device, rule K1. `epoch`: the one that is known.
 */
export function sendClaim(session: DeviceSession, claimId: string, epoch?: Epoch): Decided<ClaimRow | undefined> {
  const claim = claimById(session, claimId)
  if (claim?.own) return sendOwn(session, claim, epoch)
  if (claim?.state === 'sent') return { result: claim }
  if (claim?.state !== 'waiting') return { result: undefined }
  const sent: ClaimRow = { ...claim, state: 'sent' }
  return { change: { putClaims: [sent] }, result: sent }
}

function sendOwn({ row }: DeviceSession, claim: ClaimRow, epoch: Epoch | undefined): Decided<ClaimRow | undefined> {
  if (!isLive(claim) && claim.state !== 'settled') return { result: undefined }
  if (!row || epoch === undefined || hasLeft(row.left, claim.token)) return { result: claim }
  return { change: { row: { ...row, left: addLeft(row.left, [claim.confirmation], epoch) } }, result: claim }
}

/**
 * The server cannot take at all what it was told of a claim. A click is over then, with the reason, and may be clicked
 * again; what was given or done here is not: it is kept, listed, and sent again when a person asks for that.
 */
export function refuseClaim(session: DeviceSession, claimId: string, problem: Problem): Decided<boolean> {
  const claim = claimById(session, claimId)
  if (!session.row || !claim) return { result: false }
  if (claim.state === 'waiting' || claim.state === 'sent') {
    return { change: { putClaims: [{ ...claim, state: 'refused', problem }] }, result: true }
  }
  if (!isLive(claim) && (claim.state !== 'settled' || claim.told)) return { result: false }
  return { change: { putClaims: [{ ...claim, undeliverable: problem }] }, result: true }
}

/** A person asks that what the server refused for good is sent again. False: there is nothing of the kind. */
export function retryRefused({ row, claims, deletes }: DeviceSession): Decided<boolean> {
  const kept = claims.filter((claim) => claim.undeliverable)
  // At most one: after it nothing of the session is sent.
  const removal = deletes.find((each) => each.problem)
  if (!row?.refused && kept.length === 0 && !removal) return { result: false }
  const putClaims = kept.map((claim) => ({ ...claim, undeliverable: undefined }))
  return {
    change: {
      ...(row && { row: { ...row, refused: undefined } }),
      putClaims,
      ...(removal && { putDelete: { ...removal, problem: undefined } }),
    },
    result: true,
  }
}

/** A person takes a queued click back. False: it may have been dispatched already. */
export function withdrawClaim(session: DeviceSession, claimId: string): Decided<boolean> {
  const claim = claimById(session, claimId)
  if (claim?.state !== 'waiting') return { result: false }
  return { change: { putClaims: [{ ...claim, state: 'withdrawn' }] }, result: true }
}

/**
 * A page that holds the claim's lock starts a queued claim that won, rule K7. Only this gives the permission.
 * `deviceNow`: epoch ms by this device's clock.
 */
export function startWonClaim(
  session: DeviceSession,
  claimId: string,
  deviceNow: number,
): Decided<ClaimRow | undefined> {
  const claim = claimById(session, claimId)
  const { row } = session
  if (claim?.state !== 'won' || !row || row.deleted) return { result: undefined }
  // Storage itself settles what it hands out: no save has to find the cursor where it was.
  const running: ClaimRow = { ...claim, state: 'running', startedAt: deviceNow, foreign: undefined }
  return { change: { row: setStatus(row, claim.token, claim.want), putClaims: [running] }, result: running }
}

/** The effect of a claim was seen, rule K6: stored here, then told to the server. */
export function settleClaim(session: DeviceSession, claimId: string, outcome: Outcome): Decided<boolean> {
  const claim = claimById(session, claimId)
  const { row } = session
  if (!row || !claim || !isHeld(claim)) return { result: false }
  return { change: settleHeld(row, claim, outcome).change, result: true }
}

/**
 * Nobody holds the lock of a running claim, or its effect was not seen: a person decides, rule K8. One that was taken over
 * stays so: how it ended decides nothing, and is asked all the same.
 */
export function raiseAttention(
  session: DeviceSession,
  claimId: string,
  problem: ClaimRow['problem'],
): Decided<boolean> {
  const claim = claimById(session, claimId)
  if (!claim || !isUnresolved(claim)) return { result: false }
  const state = claim.state === 'running' ? 'attention' : claim.state
  return { change: { putClaims: [{ ...claim, state, ...(problem && { problem }) }] }, result: true }
}

/** A person says that nothing ran here before the attempt was given to somebody else. False: it is not such a claim. */
export function forgetTakenOver(session: DeviceSession, claimId: string): Decided<boolean> {
  const claim = claimById(session, claimId)
  if (claim?.state !== 'taken-over') return { result: false }
  return { change: { putClaims: [{ ...claim, state: 'released' }] }, result: true }
}

/**
 * A person gives a claim back that won and that no page took, rules K7 and K8: from here on it does not run by itself.
 * False: it is not `won` any more.
 */
export function giveUpWon(session: DeviceSession, claimId: string, problem: Problem): Decided<boolean> {
  const claim = claimById(session, claimId)
  if (claim?.state !== 'won') return { result: false }
  return { change: { putClaims: [{ ...claim, state: 'attention', problem }] }, result: true }
}

/** The server heard the settlement. False: it has to be told again, after the claim itself. */
export function markTold(session: DeviceSession, claimId: string, answer: ClaimAnswer): Decided<boolean> {
  const claim = claimById(session, claimId)
  const { row } = session
  if (!row || claim?.state !== 'settled' || isPutOff(answer) || isOver(row, answer.epoch)) return { result: false }
  // Refused or lost: somebody was given another attempt meanwhile. What happened here is on record there; ours is told.
  return { change: { row: hear(row, answer), putClaims: [{ ...claim, told: true }] }, result: true }
}

/**
 * A person says that nothing ran, and the server made the token pending again. Only a token that nobody but this device
 * ever saw is given back without one.
 */
export function releaseClaim(
  session: DeviceSession,
  claimId: string,
  answer: ClaimAnswer | undefined,
): Decided<boolean> {
  const claim = claimById(session, claimId)
  const { row } = session
  if (!row || (claim?.state !== 'attention' && claim?.state !== 'running')) return { result: false }
  if (answer && isOver(row, answer.epoch)) return { result: false }
  if (answer ? answer.result !== 'recorded' : !claim.own || hasLeft(row.left, claim.token)) return { result: false }
  const heard = answer ? hear(row, answer) : { ...row, dirty: true }
  const released: ClaimRow = { ...claim, state: 'released' }
  return { change: { row: setStatus(heard, claim.token, 'pending'), putClaims: [released] }, result: true }
}

/**
 * The server hears of a decision that this device took alone, and the token has left it. It can only be taken already
 * where two devices share one identity, as a cloned profile does: that stays on record as a problem.
 */
function deliverOwn(before: SessionRow, claim: ClaimRow, answer: ClaimAnswer): Decided<ClaimAnswered> {
  if (isPutOff(answer)) return { result: { kind: 'refused' } }
  const row = hear(before, answer)
  if (answer.result === 'won') return move(row, claim, 'won')
  const problem = answer.problem ?? {
    code: 'conflict',
    message: 'The server has another decision for a confirmation that never left this device.',
    hint: 'Compare what ran; two devices may share one copied profile.',
    retryable: false,
    at: answer.time,
  }
  return move(row, { ...claim, problem, told: claim.state === 'settled' }, 'refused')
}

/** Won with the local cursor still the expected one: exactly what was asked is stored, and it runs. */
function startAsked(row: SessionRow, claim: ClaimRow, answer: ClaimAnswer, asked: Snapshot): Decided<ClaimAnswered> {
  const running: ClaimRow = { ...claim, state: 'running', attempt: answer.claim.attempt }
  const local = overlayAsked(row.local, asked, { ...claim.confirmation, status: claim.want })
  const initial = row.initial ?? (local.conversation && initialState(local.conversation))
  const started: SessionRow = { ...row, local, ...(initial !== undefined && { initial }) }
  const { snapshot, etag } = answer
  // The server stood where we stand exactly when it says that it did before this claim, rule R6.
  const direct = snapshot !== null && etag !== null && row.base !== undefined && answer.etagBefore === row.base.etag
  if (!direct) {
    return { change: { row: { ...started, dirty: true }, putClaims: [running] }, result: { kind: 'run' } }
  }
  const base: Base = { snapshot, etag, cursor: snapshot.cursor, head: answer.head }
  const next: SessionRow = {
    ...started,
    base,
    left: addLeft(row.left, snapshot.confirmations, answer.epoch),
    dirty: row.dirty || !sameContent(local, snapshot),
  }
  return { change: { row: next, putClaims: [running] }, result: { kind: 'run' } }
}

/** The token's status as the claim view has it, and a raised cursor, rules K4 and R10. */
function showStatus(session: DeviceSession, row: SessionRow, token: string): SessionRow {
  if (!row.local) return row
  const shown = row.local.confirmations.find((each) => each.token === token)
  const view = claimView(row.claims, token)
  const attempt = deviceAttempt(session, token)
  const later = shown && view ? laterStatus({ status: shown.status, attempt }, view) : shown
  const confirmations = later ? withStatus(row.local.confirmations, token, later.status) : row.local.confirmations
  return { ...row, local: { ...row.local, confirmations, cursor: row.local.cursor + 1 } }
}

/** A status that is shown already moves no cursor, and no tab has to look again. */
function setStatus(row: SessionRow, token: string, status: ConfirmationStatus): SessionRow {
  if (!row.local?.confirmations.some((each) => each.token === token && each.status !== status)) return row
  const confirmations = withStatus(row.local.confirmations, token, status)
  return { ...row, local: { ...row.local, confirmations, cursor: row.local.cursor + 1 } }
}

/** What the answer says of its own claim. */
function hear(row: SessionRow, answer: ClaimAnswer): SessionRow {
  // Refused, the claim may stand on nothing: no session may have been made for it.
  const confirmed = row.confirmed || answer.result !== 'refused'
  const left = addLeft(row.left, [answer.claim], answer.epoch)
  return { ...row, confirmed, left, claims: mergeClaimViews(row.claims, [answer.claim]) }
}

/** The server may accept the same request later. */
function isPutOff({ result, problem }: ClaimAnswer): boolean {
  return result === 'refused' && (problem?.retryable ?? false)
}

function move(row: SessionRow, claim: ClaimRow, kind: 'won' | 'lost' | 'refused'): Decided<ClaimAnswered> {
  return { change: { row, putClaims: [claim] }, result: { kind } }
}

function withProblem(claim: ClaimRow, { problem }: ClaimAnswer): ClaimRow {
  return problem ? { ...claim, problem } : claim
}

const stale: Decided<ClaimAnswered> = { result: { kind: 'stale' } }
