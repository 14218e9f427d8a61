import type { Confirmation, Decision, Snapshot } from '../contract/session-snapshot.ts'
import { isWant } from '../protocol/claim-status.ts'
import { type Epoch, isEarlierEpoch } from '../protocol/identity.ts'
import type { SessionAnswer } from '../protocol/session-answer.ts'
import { claimView, laterStatus, takeClaimViews } from './claim-order.ts'
import { deviceAttempt, liveClaim, outlivedClaims } from './claim-rows.ts'
import { cutConversation, initialState } from './conversation-chain.ts'
import type { Base, ClaimRow, ClaimState, Decided, DeviceSession, SessionRow } from './device-session.ts'
import { isOver } from './enter-epoch.ts'
import { addLeft } from './left-tokens.ts'
import { markDeleted } from './mark-deleted.ts'
import { isMergeable, mergeSnapshot } from './merge-snapshot.ts'
import { withStatus } from './overlay-statuses.ts'
import { deepEqual, sameButForOrder, sameContent, sameConversation } from './same-content.ts'
import { createSessionRow } from './save-snapshot.ts'

export interface AnswerContext {
  readonly sessionId: string
  /** The session was asked for without a row: this answer may make one. */
  readonly mayBegin?: boolean
  /** The latest epoch that this device knows; answers of earlier ones are ignored. */
  readonly epoch: Epoch | undefined
  /** A claim of this device runs: keep the answer and apply it later, rule K5. */
  readonly holdBack: boolean
  /** Present when the document is complete up to the answer's head: which messages it has, rule R8. */
  readonly hasMessage?: (messageId: string) => boolean
  /** Local updates wait to be sent: they count as unsynced when the session turns out to be deleted. */
  readonly unsentUpdates?: boolean
  /** By the server's clock, as well as it is known. */
  readonly now: number
}

export type AppliedAnswer =
  | { readonly kind: 'ignored' }
  /** The row stands where the server stands, or ahead of it. `changed`: its snapshot is another than before. */
  | { readonly kind: 'applied'; readonly changed: boolean; readonly diverged: readonly Decision[] }
  | { readonly kind: 'held' }
  /** The server has no snapshot of the session yet. */
  | { readonly kind: 'no-snapshot' }
  | { readonly kind: 'mismatch' }
  /** Another session lives under this id now; this one was deleted. */
  | { readonly kind: 'replaced' }

/**
 * Takes what the server says of a session into the device's row: rules R1 to R8, and I2 for a session that two devices
 * made under one id. The caller has stored all updates up to `answer.head` before (messages first).
 */
export function applyAnswer(
  session: DeviceSession,
  answer: SessionAnswer,
  context: AnswerContext,
): Decided<AppliedAnswer> {
  if (context.epoch !== undefined && isEarlierEpoch(answer.epoch, context.epoch)) return ignored
  // Deleted here, and the server is still to hear of it; or it was, and this answer is older than that.
  if (!session.row && (session.deletes.length > 0 || !context.mayBegin)) return ignored
  if (session.deletes.some(({ incarnation }) => incarnation === answer.incarnation)) return ignored
  if (session.row && isOver(session.row, answer.epoch)) return ignored
  if (session.row?.deleted || session.row?.was?.includes(answer.incarnation)) return ignored
  const known = session.row ?? createSessionRow(context.sessionId, answer.incarnation)
  // In a new epoch nothing was confirmed yet: another device may have made the id again on a backup from before it.
  if (known.incarnation !== answer.incarnation && known.confirmed && !known.giveBack) {
    const { change } = markDeleted(session, context.now, context.unsentUpdates ?? false)
    return { ...(change && { change }), result: { kind: 'replaced' } }
  }
  const row = takeViews(adoptIncarnation(known, answer), answer)
  const claims = followRow(session, row, context)
  const { change, result } = takeRow({ ...session, row, claims }, row, answer, context)
  const { row: next, removeClaims = [] } = change
  const putClaims = claims.filter(
    (claim, index) => claim !== session.claims[index] && !removeClaims.includes(claim.claimId),
  )
  // Asked again, the server says the same again: nothing to write, and nobody to tell.
  if (removeClaims.length + putClaims.length === 0 && deepEqual(next, session.row)) return { result }
  return { change: { row: next, putClaims, removeClaims }, result }
}

interface Taken {
  readonly change: { readonly row: SessionRow; readonly removeClaims?: readonly string[] }
  readonly result: AppliedAnswer
}

function takeRow(session: DeviceSession, row: SessionRow, answer: SessionAnswer, context: AnswerContext): Taken {
  if (!answer.snapshot || !answer.etag) return { change: { row }, result: { kind: 'no-snapshot' } }
  if (context.holdBack) {
    const incoming = isAbove(row.incoming, answer.snapshot.cursor) ? row.incoming : answer
    return { change: { row: { ...row, incoming } }, result: { kind: 'held' } }
  }
  const base: Base = { snapshot: answer.snapshot, etag: answer.etag, cursor: answer.snapshot.cursor, head: answer.head }
  return takeSnapshot(session, row, answer, base, context)
}

function takeSnapshot(
  session: DeviceSession,
  row: SessionRow,
  answer: SessionAnswer,
  base: Base,
  context: AnswerContext,
): Taken {
  const { snapshot } = base
  const accepted = row.sent !== undefined && row.sent.writeId === answer.lastWriteId ? row.sent : undefined
  if (row.base && (accepted ? base.cursor < row.base.cursor : base.cursor <= row.base.cursor)) {
    return { change: { row: forget(row, row.base.cursor, accepted !== undefined) }, result: unchanged }
  }
  if (row.local && !isMergeable(row.local, snapshot)) return mismatch(row, answer, context)

  const left = addLeft(row.left, snapshot.confirmations, answer.epoch)
  // Not another definition any more.
  const refused = row.refused?.code === 'definition-mismatch' ? undefined : row.refused
  const standing: SessionRow = { ...forget(row, base.cursor, accepted !== undefined), base, left, refused }
  const { local } = standing
  if (!local) return finish(session, { ...standing, local: snapshot }, base, context, [])
  // Whoever wrote what: both say the same.
  if (sameContent(local, snapshot)) return { change: { row: { ...standing, dirty: false } }, result: unchanged }
  const clean = !row.dirty || accepted?.snapshot.cursor === local.cursor
  if (clean && row.base !== undefined) {
    const cursor = Math.max(snapshot.cursor, local.cursor + 1)
    const confirmations = keepOurStatuses(session, row, snapshot.confirmations)
    return finish(session, { ...standing, local: { ...snapshot, cursor, confirmations } }, base, context, [])
  }
  const merged = mergeSnapshot({
    base: accepted?.snapshot ?? row.base?.snapshot,
    local,
    server: snapshot,
    // An answer may come long after it was given.
    lease: answer.lease && answer.lease.expiresAt > context.now ? answer.lease : null,
    ourAttempt: (token) => deviceAttempt(session, token),
    theirAttempt: (token) => claimView(row.claims, token)?.attempt ?? 0,
  })
  // We are only ahead: nothing changes here, and no tab that stands on the cursor has to look again.
  if (sameButForOrder(merged.snapshot, local))
    return { change: { row: { ...standing, dirty: true } }, result: unchanged }
  return finish(session, { ...standing, local: merged.snapshot }, base, context, merged.diverged)
}

/** Cuts what could not resume, and says whether anything is left to push. */
function finish(
  session: DeviceSession,
  row: SessionRow & { readonly local: Snapshot },
  base: Base,
  { hasMessage }: AnswerContext,
  diverged: readonly Decision[],
): Taken {
  const { local } = row
  const { conversation } = local
  const initial = row.initial ?? (conversation && initialState(conversation))
  // Ours is cut before it is pushed: the tab that saved it may live, and store the message yet.
  const theirs = sameConversation(conversation, base.snapshot.conversation)
  const { conversation: kept, cut } =
    hasMessage && conversation && initial !== undefined && theirs
      ? cutConversation(conversation, initial, hasMessage)
      : { conversation, cut: [] }
  const stored: Snapshot = cut.length === 0 ? local : { ...local, cursor: local.cursor + 1, conversation: kept }
  const lost = [...diverged, ...cut]
  const next: SessionRow = {
    ...row,
    local: stored,
    ...(initial !== undefined && { initial }),
    dirty: !sameContent(stored, base.snapshot),
    ...(lost.length > 0 && { diverged: [...(row.diverged ?? []), ...lost] }),
  }
  const removeClaims = outlivedClaims(session.claims, stored)
  return { change: { row: next, removeClaims }, result: { kind: 'applied', changed: true, diverged: lost } }
}

const ignored: Decided<AppliedAnswer> = { result: { kind: 'ignored' } }
const unchanged: AppliedAnswer = { kind: 'applied', changed: false, diverged: [] }

/** Our unfinished settlements are ahead of what the server shows until it heard of them. */
function keepOurStatuses(
  session: DeviceSession,
  row: SessionRow,
  confirmations: readonly Confirmation[],
): readonly Confirmation[] {
  let kept = confirmations
  for (const claim of session.claims) {
    const theirs = kept.find((each) => each.token === claim.token)
    const status = shownStatus(claim)
    if (!theirs || !status) continue
    const attempt = claimView(row.claims, claim.token)?.attempt ?? 0
    const later = laterStatus({ status, attempt: claim.attempt }, { status: theirs.status, attempt })
    kept = withStatus(kept, claim.token, later.status)
  }
  return kept
}

function shownStatus({ state, outcome, want }: ClaimRow): Confirmation['status'] | undefined {
  if (state === 'settled') return outcome
  return state === 'running' || state === 'attention' ? want : undefined
}

/** A row that the server never confirmed takes the server's incarnation and merges with nothing in common, rule I2. */
function adoptIncarnation(row: SessionRow, answer: SessionAnswer): SessionRow {
  if (row.incarnation === answer.incarnation) return { ...row, confirmed: row.confirmed || holdsSession(answer) }
  return {
    ...row,
    incarnation: answer.incarnation,
    was: [...(row.was ?? []), row.incarnation],
    confirmed: true,
    acked: 0,
    pulled: 0,
    sent: undefined,
  }
}

/** False: the server has nothing of the session yet, and only says back the incarnation that it was asked for. */
function holdsSession({ etag, head, claims }: SessionAnswer): boolean {
  return etag !== null || head > 0 || claims.length > 0
}

function takeViews(row: SessionRow, answer: SessionAnswer): SessionRow {
  return {
    ...row,
    claims: takeClaimViews(row.claims, answer),
    // What the server speaks of has left, though our own word of it may have got no answer.
    left: addLeft(row.left, answer.claims, answer.epoch),
    lease: answer.lease ?? undefined,
  }
}

/** What the row heard, as it bears on this device's decisions. */
function followRow(session: DeviceSession, row: SessionRow, { now }: AnswerContext): readonly ClaimRow[] {
  return session.claims.map((claim) => {
    const adopted = row.was?.includes(claim.incarnation) ? { ...claim, incarnation: row.incarnation } : claim
    const view = claimView(row.claims, claim.token)
    if (!view) return adopted
    // A person gave the token to another attempt, rule K8.
    if (view.attempt > claim.attempt && PERMITTED.has(claim.state)) return { ...adopted, state: 'taken-over' }
    // A copy of the request came to the server after its loser was told, and won the next attempt: nobody waits for it.
    const lateWin = view.claimId === claim.claimId && isWant(view.status) && TOLD_OTHERWISE.has(claim.state)
    if (!lateWin || liveClaim(session, claim.token)) return adopted
    return { ...adopted, state: 'attention', attempt: view.attempt, problem: { ...wonLate, at: now } }
  })
}

const PERMITTED: ReadonlySet<ClaimState> = new Set(['won', 'running', 'attention'])
const TOLD_OTHERWISE: ReadonlySet<ClaimState> = new Set(['lost', 'refused'])

const wonLate = {
  code: 'won-late',
  message: 'The decision was refused first and came through later; nothing ran.',
  hint: 'Release it, and decide again.',
  retryable: false,
}

/** What an answer settles: the PUT that it says was accepted, and answers held back that are no news after it. */
function forget(row: SessionRow, cursor: number, accepted: boolean): SessionRow {
  const incoming = isAbove(row.incoming, cursor) ? row.incoming : undefined
  return { ...row, incoming, ...(accepted && { sent: undefined }) }
}

function isAbove(answer: SessionAnswer | undefined, cursor: number): boolean {
  return answer?.snapshot != null && answer.snapshot.cursor > cursor
}

function mismatch(row: SessionRow, answer: SessionAnswer, context: AnswerContext): Taken {
  const refused = {
    code: 'definition-mismatch',
    message: 'The server holds this session for another definition or revision.',
    hint: 'Update the app, or move the session with rejoin.sessions.upgrade(id, definition).',
    retryable: false,
    at: context.now,
    writeId: row.sent?.writeId ?? answer.lastWriteId ?? 'none',
  }
  return { change: { row: { ...row, incoming: undefined, refused } }, result: { kind: 'mismatch' } }
}
