import type { Decision, Snapshot } from '../contract/session-snapshot.ts'
import { type Epoch, isEarlierEpoch } from '../protocol/identity.ts'
import type { SessionAnswer } from '../protocol/session-answer.ts'
import { laterStatus, mergeClaimViews } from './claim-order.ts'
import { deviceAttempt } from './claim-rows.ts'
import { cutConversation, initialState } from './conversation-chain.ts'
import type { Base, Decided, DeviceSession, SessionRow } from './device-session.ts'
import { addLeft } from './left-tokens.ts'
import { isMergeable, mergeSnapshot } from './merge-snapshot.ts'
import { sameContent } from './same-content.ts'
import { createSessionRow, withStatus } from './save-snapshot.ts'

export interface AnswerContext {
  readonly sessionId: string
  /** The latest epoch that this device knows; answers of earlier ones are ignored. */
  readonly epoch: Epoch | undefined
  /** A claim of this device runs: keep the answer and apply it later, rule K5. */
  readonly holdBack: boolean
  /** Present when the document is complete up to the answer's head: which messages it has, rule R8. */
  readonly hasMessage?: (messageId: string) => boolean
  readonly now: number
}

export type AppliedAnswer =
  | { readonly kind: 'ignored' }
  /** The row stands where the server stands, or ahead of it. */
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
  if (context.epoch !== undefined && isEarlierEpoch(answer.epoch, context.epoch)) return { result: { kind: 'ignored' } }
  if (session.row?.deleted) return { result: { kind: 'ignored' } }
  const known = session.row ?? createSessionRow(context.sessionId, answer.incarnation)
  if (known.incarnation !== answer.incarnation && known.confirmed) {
    const deleted = { at: context.now, unsynced: known.dirty }
    return { change: { row: { ...known, deleted } }, result: { kind: 'replaced' } }
  }
  const row = takeViews(adoptIncarnation(known, answer), answer)
  if (!answer.snapshot || !answer.etag) return { change: { row }, result: { kind: 'no-snapshot' } }
  if (context.holdBack) return { change: { row: { ...row, incoming: answer } }, result: { kind: 'held' } }
  return takeSnapshot({ ...session, row }, row, answer, answer.snapshot, context)
}

function takeSnapshot(
  session: DeviceSession,
  row: SessionRow,
  answer: SessionAnswer,
  snapshot: Snapshot,
  context: AnswerContext,
): Decided<AppliedAnswer> {
  const accepted = row.sent !== undefined && row.sent.writeId === answer.lastWriteId ? row.sent : undefined
  if (row.base && (accepted ? snapshot.cursor < row.base.cursor : snapshot.cursor <= row.base.cursor)) {
    return { change: { row: accepted ? { ...row, sent: undefined } : row }, result: unchanged }
  }
  if (row.local && !isMergeable(row.local, snapshot)) return mismatch(row, answer, context)

  const base: Base = { snapshot, etag: answer.etag ?? '', cursor: snapshot.cursor, head: answer.head }
  const standing: SessionRow = {
    ...row,
    base,
    left: addLeft(row.left, snapshot.confirmations, answer.epoch),
    incoming: undefined,
    ...(accepted && { sent: undefined }),
  }
  const { local } = standing
  if (!local) return adopt(standing, snapshot, answer, context)
  const common = accepted?.snapshot ?? row.base?.snapshot
  const clean = !standing.dirty || accepted?.snapshot.cursor === local.cursor
  // The write that was answered is all that happened: nothing to merge, the row only stands on it now.
  if (accepted && sameContent(accepted.snapshot, snapshot)) {
    return { change: { row: { ...standing, dirty: !clean } }, result: unchanged }
  }
  if (clean && sameContent(local, snapshot))
    return { change: { row: { ...standing, dirty: false } }, result: unchanged }
  if (clean && row.base !== undefined) {
    const cursor = Math.max(snapshot.cursor, local.cursor + 1)
    return finish({ ...standing, local: keepOurStatuses(session, { ...snapshot, cursor }) }, answer, context, [])
  }
  const merged = mergeSnapshot({
    base: common,
    local,
    server: snapshot,
    lease: answer.lease,
    ourAttempt: (token) => deviceAttempt(session, token),
    theirAttempt: (token) => row.claims[token]?.attempt ?? 0,
  })
  return finish({ ...standing, local: merged.snapshot }, answer, context, merged.diverged)
}

/** A session that this device knew nothing of, or only messages. */
function adopt(
  row: SessionRow,
  snapshot: Snapshot,
  answer: SessionAnswer,
  context: AnswerContext,
): Decided<AppliedAnswer> {
  const initial = row.initial ?? (snapshot.conversation && initialState(snapshot.conversation))
  return finish({ ...row, local: snapshot, ...(initial !== undefined && { initial }) }, answer, context, [])
}

/** Cuts what could not resume, and says whether anything is left to push. */
function finish(
  row: SessionRow,
  answer: SessionAnswer,
  { hasMessage }: AnswerContext,
  diverged: readonly Decision[],
): Decided<AppliedAnswer> {
  const local = row.local as Snapshot
  const initial = row.initial ?? (local.conversation && initialState(local.conversation))
  const { conversation, cut } =
    hasMessage && local.conversation && initial !== undefined
      ? cutConversation(local.conversation, initial, hasMessage)
      : { conversation: local.conversation, cut: [] }
  const stored: Snapshot = cut.length === 0 ? local : { ...local, cursor: local.cursor + 1, conversation }
  const lost = [...diverged, ...cut]
  const next: SessionRow = {
    ...row,
    local: stored,
    ...(initial !== undefined && { initial }),
    dirty: answer.snapshot === null || !sameContent(stored, answer.snapshot),
    ...(lost.length > 0 && { diverged: [...(row.diverged ?? []), ...lost] }),
  }
  return { change: { row: next }, result: { kind: 'applied', changed: true, diverged: lost } }
}

const unchanged: AppliedAnswer = { kind: 'applied', changed: false, diverged: [] }

/** Our unfinished settlements are ahead of what the server shows until it heard of them. */
function keepOurStatuses(session: DeviceSession, snapshot: Snapshot): Snapshot {
  let { confirmations } = snapshot
  for (const claim of session.claims) {
    const theirs = confirmations.find((each) => each.token === claim.token)
    const status = claim.state === 'settled' ? claim.outcome : claim.state === 'running' ? claim.want : undefined
    if (!theirs || !status) continue
    const attempt = session.row?.claims[claim.token]?.attempt ?? 0
    const later = laterStatus({ status, attempt: claim.attempt }, { status: theirs.status, attempt })
    confirmations = withStatus(confirmations, claim.token, later.status)
  }
  return confirmations === snapshot.confirmations ? snapshot : { ...snapshot, confirmations }
}

/** A row that the server never confirmed takes the server's incarnation and merges with nothing in common, rule I2. */
function adoptIncarnation(row: SessionRow, answer: SessionAnswer): SessionRow {
  if (row.incarnation === answer.incarnation) return { ...row, confirmed: true }
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

function takeViews(row: SessionRow, answer: SessionAnswer): SessionRow {
  return {
    ...row,
    claims: mergeClaimViews(row.claims, answer.claims),
    lease: answer.lease ?? undefined,
  }
}

function mismatch(row: SessionRow, answer: SessionAnswer, context: AnswerContext): Decided<AppliedAnswer> {
  const refused = {
    code: 'definition-mismatch',
    message: 'The server holds this session for another definition or revision.',
    hint: 'Update the app, or move the session with rejoin.sessions.upgrade(id, definition).',
    retryable: false,
    at: context.now,
    writeId: row.sent?.writeId ?? answer.lastWriteId ?? 'none',
  }
  return { change: { row: { ...row, refused } }, result: { kind: 'mismatch' } }
}
