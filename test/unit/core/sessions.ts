import type { Conversation, Decision, Snapshot } from '../../../src/contract/session-snapshot.ts'
import type { Base, ClaimRow, Decided, DeviceSession, SessionRow } from '../../../src/core/device-session.ts'
import { createSessionRow, type SaveRequest } from '../../../src/core/save-snapshot.ts'
import type { ClaimView } from '../../../src/protocol/claim-view.ts'
import { formatETag } from '../../../src/protocol/etag.ts'
import type { ClaimAnswer } from '../../../src/protocol/put-claim.ts'
import type { SessionAnswer } from '../../../src/protocol/session-answer.ts'
import { confirmation, decision, snapshot } from '../contract/snapshots.ts'
import { applyChange } from './apply-change.ts'

export { confirmation, decision, snapshot }

export const EPOCH = '1000-a'

/** Decisions `m1`, `m2`, … from `idle` through `s1`, `s2`, …, and the state that they lead to. */
export function talk(...messageIds: readonly string[]): Conversation {
  const decisions: Decision[] = messageIds.map((messageId, index) =>
    decision({ messageId, fromState: index === 0 ? 'idle' : `s${index}`, toState: `s${index + 1}` }),
  )
  return { state: decisions.at(-1)?.toState ?? 'idle', decisions }
}

export function etagAt(cursor: number): string {
  return formatETag({ epoch: EPOCH, incarnation: 'inc', cursor, writeId: 'w' })
}

export function baseOf(stored: Snapshot): Base {
  return { snapshot: stored, etag: etagAt(stored.cursor), cursor: stored.cursor, head: 0 }
}

export function row(change: Partial<SessionRow> = {}): SessionRow {
  return { ...createSessionRow('session-1', 'inc'), ...change }
}

/** Stored here and on the server alike. */
export function syncedRow(stored: Snapshot, change: Partial<SessionRow> = {}): SessionRow {
  const left = Object.fromEntries(stored.confirmations.map(({ token }) => [token, EPOCH]))
  return row({ confirmed: true, local: stored, initial: 'idle', base: baseOf(stored), left, ...change })
}

export function session(row: SessionRow | undefined, ...claims: readonly ClaimRow[]): DeviceSession {
  return { row, claims, deletes: [] }
}

export function claimRow(change: Partial<ClaimRow> = {}): ClaimRow {
  return {
    kind: 'claim',
    claimId: 'c1',
    sessionId: 'session-1',
    incarnation: 'inc',
    token: 'confirm-1',
    toolCallId: 'app-1',
    want: 'approving',
    confirmation: confirmation(),
    own: false,
    state: 'sent',
    attempt: 0,
    told: false,
    deviceAt: 5,
    sub: 'ann',
    ...change,
  }
}

export function view(change: Partial<ClaimView> = {}): ClaimView {
  return { token: 'confirm-1', status: 'approving', attempt: 0, claimId: 'c1', device: 'A', doubt: false, ...change }
}

export function answer(stored: Snapshot | null, change: Partial<SessionAnswer> = {}): SessionAnswer {
  const etag = stored && etagAt(stored.cursor)
  return {
    server: 'rejoin',
    account: 'acme',
    epoch: EPOCH,
    time: 50,
    incarnation: 'inc',
    etag,
    etagBefore: etag,
    snapshot: stored,
    head: 0,
    lastWriteId: null,
    claims: [],
    lease: null,
    ...change,
  }
}

export function claimAnswer(
  result: ClaimAnswer['result'],
  stored: Snapshot | null,
  change: Partial<ClaimAnswer> = {},
): ClaimAnswer {
  return { ...answer(stored), result, claim: view(), ...change }
}

export function saveRequest(asked: Snapshot, change: Partial<SaveRequest> = {}): SaveRequest {
  return {
    snapshot: asked,
    expectedCursor: asked.cursor - 1,
    knownIncarnation: 'inc',
    newIncarnation: 'fresh',
    ...change,
  }
}

/** The session after a decision was committed. */
export function committed(before: DeviceSession, decided: Decided<unknown>): DeviceSession {
  return decided.change ? applyChange(before, decided.change) : before
}
