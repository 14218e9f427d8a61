import type { Epoch, ETag } from '../protocol/identity.ts'
import type { Problem } from '../protocol/problem.ts'
import type { PutSession } from '../protocol/put-session.ts'
import { isUndelivered } from './claim-rows.ts'
import type { Decided, DeviceSession, Sent, SessionRow } from './device-session.ts'
import { addLeft, leftIn } from './left-tokens.ts'

export type PushStep =
  | { readonly kind: 'put'; readonly request: PutSession; readonly ifMatch: ETag | null }
  | { readonly kind: 'nothing' }
  /** Something of the session has to be acknowledged first: messages, or this device's own decisions. */
  | { readonly kind: 'wait'; readonly for: 'messages' | 'claims' | 'running' }

export interface PushContext {
  readonly epoch: Epoch
  readonly newWriteId: string
  /** Local updates that the server has not acknowledged. */
  readonly unackedUpdates: boolean
  readonly holdBack: boolean
}

/** Chooses the one PUT that this session may send now, rules R3, R8, K5 and K9. Committed strictly before it is sent. */
export function beginPush(session: DeviceSession, context: PushContext): Decided<PushStep> {
  const { row } = session
  if (!row || row.deleted) return nothing
  if (context.holdBack) return { result: { kind: 'wait', for: 'running' } }
  // What it names was acknowledged before it was sent the first time; only its answer lets the session go on.
  if (row.sent) return { result: put(row, row.sent) }
  if (!row.dirty || !row.local || row.refused) return nothing
  if (context.unackedUpdates) return { result: { kind: 'wait', for: 'messages' } }
  if (session.claims.some((claim) => isUndelivered(session, claim))) return { result: { kind: 'wait', for: 'claims' } }
  const cursor = Math.max(row.local.cursor, (row.base?.cursor ?? -1) + 1)
  const local = cursor === row.local.cursor ? row.local : { ...row.local, cursor }
  const sent: Sent = {
    writeId: context.newWriteId,
    snapshot: local,
    ifMatch: row.base?.etag ?? null,
    inDoubt: local.confirmations
      .filter(({ token }) => leftEarlier(row, token, context.epoch))
      .map(({ token }) => token),
  }
  const left = addLeft(row.left, local.confirmations, context.epoch)
  return { change: { row: { ...row, local, sent, left } }, result: put(row, sent) }
}

/** The server refused the PUT for good: it is not sent again, and the session says why. */
export function refusePush(session: DeviceSession, writeId: string, problem: Problem): Decided<boolean> {
  const { row } = session
  if (row?.sent?.writeId !== writeId) return { result: false }
  return { change: { row: { ...row, sent: undefined, refused: { ...problem, writeId } } }, result: true }
}

/**
 * The PUT did not apply, and what the server says instead comes in beside it: a 412, or another incarnation. One that
 * did apply stays until its answer is taken in, which a running claim may hold back: it is what both sides share then.
 */
export function forgetPush(session: DeviceSession, writeId: string): Decided<boolean> {
  const { row } = session
  if (row?.sent?.writeId !== writeId || row.incoming?.lastWriteId === writeId) return { result: false }
  return { change: { row: { ...row, sent: undefined } }, result: true }
}

const nothing: Decided<PushStep> = { result: { kind: 'nothing' } }

function put(row: SessionRow, sent: Sent): PushStep {
  const inDoubt = sent.inDoubt.length > 0 ? { inDoubt: sent.inDoubt } : {}
  const request = { incarnation: row.incarnation, writeId: sent.writeId, snapshot: sent.snapshot, ...inDoubt }
  return { kind: 'put', request, ifMatch: sent.ifMatch }
}

function leftEarlier(row: SessionRow, token: string, epoch: Epoch): boolean {
  const left = leftIn(row.left, token)
  return left !== undefined && left !== epoch
}
