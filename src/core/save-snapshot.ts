import type { Confirmation, Snapshot } from '../contract/session-snapshot.ts'
import { RejoinError } from '../errors.ts'
import type { Want } from '../protocol/claim-status.ts'
import type { Incarnation } from '../protocol/identity.ts'
import type { Lease } from '../protocol/session-answer.ts'
import { deviceAttempt, liveClaim } from './claim-rows.ts'
import { type ConfirmationMove, confirmationMoves } from './confirmation-moves.ts'
import { chains, initialState } from './conversation-chain.ts'
import type { ClaimRow, Decided, DeviceSession, SessionRow } from './device-session.ts'
import { hasLeft } from './left-tokens.ts'
import { isMergeable } from './merge-snapshot.ts'
import { overlayStatuses } from './overlay-statuses.ts'

/** How a claim would be decided from here. */
export interface ClaimRoute {
  readonly claimId: string
  /** `server`: reachable as far as known. `offline`: known not to be. `device`: there is no server to ask. */
  readonly via: 'server' | 'offline' | 'device'
  /** The device may decide a token that never left it, rule K1: its storage lasts. */
  readonly lasting: boolean
  readonly sub: string
  readonly deviceAt: number
}

export interface SaveRequest {
  readonly snapshot: Snapshot
  readonly expectedCursor: number | undefined
  /** The incarnation that this tab last loaded or created; a save against another is a conflict, rule I3. */
  readonly knownIncarnation: Incarnation | undefined
  /** For a session that has no row yet. */
  readonly newIncarnation: Incarnation
  /** Absent: a claim answers `needs-claim` and writes nothing. */
  readonly route?: ClaimRoute
  /** Absent: a new turn answers `needs-lease` and writes nothing. */
  readonly lease?: { readonly granted: boolean; readonly lease?: Lease | undefined }
}

export type SaveOutcome =
  | { readonly kind: 'stored'; readonly incarnation: Incarnation }
  | { readonly kind: 'conflict' }
  /** A settlement that was recorded although the cursor had moved: the save answers `false`, rule K6. */
  | { readonly kind: 'recorded'; readonly claim: ClaimRow }
  | { readonly kind: 'settled'; readonly claim: ClaimRow }
  | { readonly kind: 'needs-claim'; readonly confirmation: Confirmation; readonly want: Want; readonly own: boolean }
  | {
      readonly kind: 'needs-lease'
      readonly turnId: string
      readonly expiresAt: number
      readonly incarnation: Incarnation
    }
  /** The row is `sent`: ask the server now. */
  | { readonly kind: 'ask'; readonly claim: ClaimRow }
  /** Decided by this device: permission to run. */
  | { readonly kind: 'run'; readonly claim: ClaimRow }
  /** Stored in the outbox; the save rejects with `claim-queued`. */
  | { readonly kind: 'queued' }

/**
 * Decides one `SessionStorage.save` over what is stored: compare-and-set, statuses, claims, settlements, turns. The
 * caller commits `change` in the transaction that read `session`, strictly for everything but plain saves.
 *
 * @throws RejoinError `snapshot-invalid` for a snapshot that could not resume or moves two tokens, `definition-mismatch`,
 * `refused` for a settlement that nobody here may make.
 */
export function saveSnapshot(session: DeviceSession, request: SaveRequest): Decided<SaveOutcome> {
  const { snapshot, expectedCursor, knownIncarnation } = request
  const { row } = session
  requireAdvance(snapshot, expectedCursor)
  if (row?.deleted || (row && knownIncarnation !== undefined && !isIncarnation(row, knownIncarnation))) return conflict
  const moves = confirmationMoves(row?.local, snapshot)
  const settlement = moves.find((move) => move.kind === 'settlement')
  const current = row?.local?.cursor === expectedCursor
  if (settlement && !current && row?.local) return recordLate(session, row, row.local, settlement)
  if (!current) return conflict
  if (row?.local && !isMergeable(row.local, snapshot)) throw definitionMismatch()
  const initial = requireChain(row, snapshot)
  const move = onlyMove(moves)

  const turn = snapshot.activeTurn
  if (turn && turn.turnId !== row?.local?.activeTurn?.turnId) {
    if (!request.lease) {
      const incarnation = row?.incarnation ?? request.newIncarnation
      return { result: { kind: 'needs-lease', turnId: turn.turnId, expiresAt: turn.expiresAt, incarnation } }
    }
    if (!request.lease.granted) return raised(row)
  }

  const before: SessionRow = row ?? createSessionRow(snapshot.sessionId, request.newIncarnation)
  const next: SessionRow = {
    ...before,
    local: { ...snapshot, confirmations: overlay(row?.local, snapshot, move) },
    dirty: true,
    ...(initial !== undefined && { initial }),
    ...(request.lease?.lease && { lease: request.lease.lease }),
    refused: undefined,
  }
  requireUniqueCalls(next.local?.confirmations ?? [])
  if (move?.kind === 'claim') return claim(session, row, next, move, request)
  if (move?.kind === 'settlement') return settle(session, next, move)
  const imported = moves.filter((each) => each.kind === 'import').map((each) => importRow(next, each, request))
  const result: SaveOutcome = { kind: 'stored', incarnation: next.incarnation }
  return { change: { row: next, ...(imported.length > 0 && { putClaims: imported }) }, result }
}

/** A row as the first save or the first message of a session makes it, rule I1. */
export function createSessionRow(sessionId: string, incarnation: Incarnation): SessionRow {
  return { sessionId, incarnation, confirmed: false, dirty: false, left: {}, claims: {}, acked: 0, pulled: 0 }
}

/** True if `incarnation` names the session that `row` holds, also under a name that it gave up for the server's, I2. */
export function isIncarnation(row: SessionRow, incarnation: Incarnation): boolean {
  return row.incarnation === incarnation || (row.was?.includes(incarnation) ?? false)
}

type MoveOf<K extends ConfirmationMove['kind']> = Extract<ConfirmationMove, { kind: K }>

const conflict: Decided<SaveOutcome> = { result: { kind: 'conflict' } }

function claim(
  session: DeviceSession,
  row: SessionRow | undefined,
  next: SessionRow,
  move: MoveOf<'claim'>,
  { route, expectedCursor }: SaveRequest,
): Decided<SaveOutcome> {
  const { token } = move.confirmation
  const live = liveClaim(session, token)
  if (live && live.want === move.want) return { result: { kind: 'queued' } }
  if (live && live.state !== 'waiting') return raised(row)
  const left = hasLeft(next.left, token)
  if (!route) {
    return { result: { kind: 'needs-claim', confirmation: move.confirmation, want: move.want, own: !left } }
  }
  const own = !left && (route.lasting || route.via === 'device')
  const claimRow: ClaimRow = {
    kind: 'claim',
    claimId: route.claimId,
    sessionId: next.sessionId,
    incarnation: next.incarnation,
    token,
    toolCallId: move.confirmation.toolCallId,
    want: move.want,
    confirmation: { ...move.confirmation, status: 'pending' },
    own,
    state: own ? 'running' : route.via === 'server' ? 'sent' : 'waiting',
    attempt: deviceAttempt(session, token),
    told: false,
    ...(expectedCursor !== undefined && { expectedCursor }),
    deviceAt: route.deviceAt,
    sub: route.sub,
  }
  const superseded = session.claims.filter((each) => each.token === token && each.state !== 'settled')
  const change = {
    putClaims: [claimRow],
    ...(superseded.length > 0 && { removeClaims: superseded.map((each) => each.claimId) }),
  }
  if (own) return { change: { ...change, row: next }, result: { kind: 'run', claim: claimRow } }
  // The permission is the server's to give: the snapshot stays as it is until it did. A session that was never stored
  // still needs a row for its outbox to stand on.
  const waiting = row ? change : { ...change, row: createSessionRow(next.sessionId, next.incarnation) }
  return claimRow.state === 'sent'
    ? { change: waiting, result: { kind: 'ask', claim: claimRow } }
    : { change: waiting, result: { kind: 'queued' } }
}

function settle(session: DeviceSession, next: SessionRow, move: MoveOf<'settlement'>): Decided<SaveOutcome> {
  const settled = settledRow(session, move)
  return { change: { row: next, putClaims: [settled] }, result: { kind: 'settled', claim: settled } }
}

/** Forgetting an effect that happened is the worse error, so the outcome is recorded on what is stored now. */
function recordLate(
  session: DeviceSession,
  row: SessionRow,
  local: Snapshot,
  move: MoveOf<'settlement'>,
): Decided<SaveOutcome> {
  if (!liveClaim(session, move.confirmation.token)) return conflict
  const settled = settledRow(session, move)
  const confirmations = withStatus(local.confirmations, move.confirmation.token, move.outcome)
  const next = { ...row, dirty: true, local: { ...local, confirmations, cursor: local.cursor + 1 } }
  return { change: { row: next, putClaims: [settled] }, result: { kind: 'recorded', claim: settled } }
}

function settledRow(session: DeviceSession, { confirmation, outcome }: MoveOf<'settlement'>): ClaimRow {
  const running = liveClaim(session, confirmation.token)
  if (running?.state !== 'running') {
    throw new RejoinError('refused', 'This device holds no permission for the confirmation that the save settles.', {
      hint: 'Look at rejoin.attention: a decision that broke off is settled there.',
    })
  }
  return { ...running, state: 'settled', outcome, told: false }
}

function importRow(row: SessionRow, move: MoveOf<'import'>, { route, newIncarnation }: SaveRequest): ClaimRow {
  const { confirmation, outcome } = move
  return {
    kind: 'claim',
    claimId: route?.claimId ?? `import-${newIncarnation}-${confirmation.token}`.slice(0, 128),
    sessionId: row.sessionId,
    incarnation: row.incarnation,
    token: confirmation.token,
    toolCallId: confirmation.toolCallId,
    want: outcome === 'approved' ? 'approving' : 'expiring',
    confirmation: { ...confirmation, status: 'pending' },
    own: true,
    state: 'settled',
    attempt: 0,
    outcome,
    told: false,
    deviceAt: route?.deviceAt ?? 0,
    sub: route?.sub ?? '',
  }
}

/** A claim that is answered `false` always leaves the cursor raised, rule R10. */
function raised(row: SessionRow | undefined): Decided<SaveOutcome> {
  if (!row?.local) return conflict
  const local = { ...row.local, cursor: row.local.cursor + 1 }
  return { change: { row: { ...row, local } }, result: { kind: 'conflict' } }
}

function overlay(
  stored: Snapshot | undefined,
  asked: Snapshot,
  move: ConfirmationMove | undefined,
): readonly Confirmation[] {
  if (!stored) return asked.confirmations
  const confirmations = move
    ? withStatus(stored.confirmations, move.confirmation.token, move.confirmation.status)
    : stored.confirmations
  return overlayStatuses(asked.confirmations, { confirmations, claims: {} })
}

export function withStatus(
  confirmations: readonly Confirmation[],
  token: string,
  status: Confirmation['status'],
): readonly Confirmation[] {
  return confirmations.map((each) => (each.token === token && each.status !== status ? { ...each, status } : each))
}

function requireAdvance(snapshot: Snapshot, expectedCursor: number | undefined): void {
  if (expectedCursor === undefined) return
  if (!Number.isSafeInteger(expectedCursor) || expectedCursor < 0) {
    throw new RejoinError('snapshot-invalid', 'The expected cursor is not a safe integer of 0 or more.')
  }
  if (snapshot.cursor <= expectedCursor) {
    throw new RejoinError('snapshot-invalid', "The snapshot's cursor does not pass the expected one.", {
      hint: 'A save raises the cursor by one.',
    })
  }
}

function requireChain(row: SessionRow | undefined, snapshot: Snapshot): string | undefined {
  const { conversation } = snapshot
  if (!conversation) return row?.initial
  const initial = row?.initial ?? initialState(conversation)
  if (!chains(initial, conversation)) {
    throw new RejoinError('snapshot-invalid', 'The decisions do not lead from the initial state to the stored one.', {
      hint: 'Save the decisions in the order in which they were taken; nobody could resume this snapshot.',
    })
  }
  return initial
}

function onlyMove(moves: readonly ConfirmationMove[]): MoveOf<'claim'> | MoveOf<'settlement'> | undefined {
  if (moves.some((move) => move.kind === 'unclaimed')) {
    throw new RejoinError('snapshot-invalid', 'A confirmation was decided without asking first.', {
      hint: 'Save approving, rejecting or expiring, and the outcome after it ran.',
    })
  }
  const exclusive = moves.filter((move) => move.kind === 'claim' || move.kind === 'settlement')
  if (exclusive.length > 1) {
    throw new RejoinError('snapshot-invalid', 'One save decides one confirmation; this one moves several.', {
      hint: 'Save after each decision.',
    })
  }
  return exclusive[0]
}

function requireUniqueCalls(confirmations: readonly Confirmation[]): void {
  if (new Set(confirmations.map((each) => each.toolCallId)).size !== confirmations.length) {
    throw new RejoinError('snapshot-invalid', 'Two confirmations name the same tool call.')
  }
}

function definitionMismatch(): RejoinError {
  return new RejoinError('definition-mismatch', 'The session was stored for another definition or revision.', {
    hint: 'Move the session to the new revision with rejoin.sessions.upgrade(id, definition).',
  })
}
