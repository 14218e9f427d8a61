import { type Confirmation, MAX_CONFIRMATIONS, type Snapshot } from '../contract/session-snapshot.ts'
import { RejoinError } from '../errors.ts'
import type { Want } from '../protocol/claim-status.ts'
import type { Incarnation } from '../protocol/identity.ts'
import type { Lease } from '../protocol/session-answer.ts'
import { claimView } from './claim-order.ts'
import { liveClaim, outlivedClaims } from './claim-rows.ts'
import { type ConfirmationMove, confirmationMoves } from './confirmation-moves.ts'
import { chains, initialState } from './conversation-chain.ts'
import type { ClaimRow, ClaimState, Decided, DeviceChange, DeviceSession, SessionRow } from './device-session.ts'
import { hasLeft } from './left-tokens.ts'
import { isMergeable } from './merge-snapshot.ts'
import { overlayAsked } from './overlay-statuses.ts'
import { areMessagesRefused } from './refused-messages.ts'
import { asSettled, isHeld, settleHeld } from './settle-held.ts'

/** How a claim would be decided from here. */
export interface ClaimRoute {
  readonly claimId: string
  /** `server`: reachable as far as known. `offline`: known not to be. `device`: there is no server to ask. */
  readonly via: 'server' | 'offline' | 'device'
  /** The device may decide a token that never left it, rule K1: its storage lasts. */
  readonly lasting: boolean
  readonly deviceAt: number
  /** The save comes from a session layer that is not ours, rule K5. */
  readonly foreign: boolean
}

export interface SaveRequest {
  readonly snapshot: Snapshot
  readonly expectedCursor: number | undefined
  /** The incarnation that this tab last loaded or created; a save against another is a conflict, rule I3. */
  readonly knownIncarnation: Incarnation | undefined
  /** Fresh for each save; for a session that has no row yet. */
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
 * `refused` for a settlement that nobody here may make, `deleted` for a new session under the id of one that was deleted
 * elsewhere and still holds unsynced work here.
 */
export function saveSnapshot(session: DeviceSession, request: SaveRequest): Decided<SaveOutcome> {
  const { snapshot, expectedCursor, knownIncarnation } = request
  const { row } = session
  requireAdvance(snapshot, expectedCursor)
  if (row?.deleted && expectedCursor === undefined) throw stillKept()
  if (row?.deleted || (knownIncarnation !== undefined && !isIncarnation(row, knownIncarnation))) return conflict
  const moves = confirmationMoves(row?.local, snapshot)
  if (row?.local?.cursor !== expectedCursor) return recordLate(session, moves)
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
    local: overlayAsked(row?.local, snapshot, move?.confirmation),
    dirty: true,
    ...(initial !== undefined && { initial }),
    ...(request.lease?.lease && { lease: request.lease.lease }),
    // This snapshot takes the place of a refused one; messages that were refused are still the same.
    refused: areMessagesRefused(before) ? before.refused : undefined,
  }
  requireStorable(next.local?.confirmations ?? [])
  const change = store(session, next, moves, request)
  if (move?.kind === 'claim') return claim(session, row, change, move, request)
  if (move?.kind === 'settlement') return settle(session, change, move)
  return { change, result: { kind: 'stored', incarnation: next.incarnation } }
}

/**
 * Refuses a save that upstream's queue sent for a click that it no longer shows: a conflict, and the cursor is raised, rule
 * R10. What it settles is recorded all the same: an effect that happened is never forgotten, rule K6.
 */
export function refuseLeftover(session: DeviceSession, request: SaveRequest): Decided<SaveOutcome> {
  const { row } = session
  const { knownIncarnation, snapshot } = request
  if (row?.deleted || (knownIncarnation !== undefined && !isIncarnation(row, knownIncarnation))) return conflict
  const late = recordLate(session, confirmationMoves(row?.local, snapshot))
  return late.change?.row ? late : { ...late, change: { ...raised(row).change, ...late.change } }
}

/** A row as the first save or the first message of a session makes it, rule I1. */
export function createSessionRow(sessionId: string, incarnation: Incarnation): SessionRow {
  return { sessionId, incarnation, confirmed: false, dirty: false, left: {}, claims: {}, acked: 0, pulled: 0 }
}

/** All names under which this device knows the session that `row` holds. */
export function incarnationsOf(row: SessionRow): readonly Incarnation[] {
  return [row.incarnation, ...(row.was ?? [])]
}

/** True if `incarnation` names the session that `row` holds, also under a name that it gave up for the server's, I2. */
export function isIncarnation(row: SessionRow | undefined, incarnation: Incarnation): boolean {
  return row?.incarnation === incarnation || (row?.was?.includes(incarnation) ?? false)
}

type MoveOf<K extends ConfirmationMove['kind']> = Extract<ConfirmationMove, { kind: K }>

const conflict: Decided<SaveOutcome> = { result: { kind: 'conflict' } }

interface StoreChange extends DeviceChange {
  readonly row: SessionRow
  readonly putClaims: readonly ClaimRow[]
  readonly removeClaims: readonly string[]
}

/** Stores `next`, with what it brings of the past, and without the rows that it no longer needs. */
function store(
  session: DeviceSession,
  next: SessionRow,
  moves: readonly ConfirmationMove[],
  { snapshot, newIncarnation }: SaveRequest,
): StoreChange {
  const putClaims = moves
    .filter((move) => move.kind === 'import')
    .filter(({ confirmation: { token } }) => claimView(next.claims, token) === undefined)
    .map((move, index) => importRow(next, move, `${newIncarnation}.${index}`))
  return { row: next, putClaims, removeClaims: outlivedClaims(session.claims, next.local ?? snapshot) }
}

/** A click takes their place; the others stay as a record of what became of them, rule K3. */
const REPLACED: ReadonlySet<ClaimState> = new Set(['waiting', 'withdrawn', 'refused', 'released'])

function claim(
  session: DeviceSession,
  row: SessionRow | undefined,
  stored: StoreChange,
  move: MoveOf<'claim'>,
  { route, expectedCursor }: SaveRequest,
): Decided<SaveOutcome> {
  const next = stored.row
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
    attempt: claimView(next.claims, token)?.attempt ?? 0,
    told: false,
    ...(expectedCursor !== undefined && { expectedCursor }),
    deviceAt: route.deviceAt,
    ...(own && { startedAt: route.deviceAt }),
    ...(route.foreign && { foreign: true as const }),
    sub: '',
  }
  const superseded = session.claims.filter((each) => each.token === token && REPLACED.has(each.state))
  const removeClaims = superseded.map((each) => each.claimId)
  if (own) {
    const change = {
      row: next,
      putClaims: [...stored.putClaims, claimRow],
      removeClaims: [...stored.removeClaims, ...removeClaims],
    }
    return { change, result: { kind: 'run', claim: claimRow } }
  }
  // The permission is the server's to give: the snapshot stays as it is until it did. A session that was never stored
  // still needs a row for its outbox to stand on.
  const before = row ? {} : { row: createSessionRow(next.sessionId, next.incarnation) }
  const change = { ...before, putClaims: [claimRow], removeClaims }
  const result: SaveOutcome = claimRow.state === 'sent' ? { kind: 'ask', claim: claimRow } : { kind: 'queued' }
  return { change, result }
}

function settle(session: DeviceSession, stored: StoreChange, move: MoveOf<'settlement'>): Decided<SaveOutcome> {
  const held = liveClaim(session, move.confirmation.token)
  if (!held || !isHeld(held)) {
    throw new RejoinError('refused', 'This device holds no permission for the confirmation that the save settles.', {
      hint: 'Look at rejoin.attention: a decision that broke off is settled there.',
    })
  }
  const settled = asSettled(held, move.outcome)
  const change = { ...stored, putClaims: [...stored.putClaims, settled] }
  return { change, result: { kind: 'settled', claim: settled } }
}

/** The cursor has moved: a conflict. An outcome is recorded all the same, on what is stored now, rule K6. */
function recordLate(session: DeviceSession, moves: readonly ConfirmationMove[]): Decided<SaveOutcome> {
  for (const move of moves) {
    if (move.kind !== 'settlement' && move.kind !== 'unclaimed') continue
    const { token } = move.confirmation
    const held = liveClaim(session, token) ?? session.claims.find((claim) => claim.token === token && isHeld(claim))
    if (!session.row || !held || !isHeld(held)) continue
    const { change, settled } = settleHeld(session.row, held, move.outcome)
    return { change, result: { kind: 'recorded', claim: settled } }
  }
  return conflict
}

function importRow(row: SessionRow, { confirmation, outcome }: MoveOf<'import'>, claimId: string): ClaimRow {
  return {
    kind: 'claim',
    claimId,
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
    deviceAt: 0,
    sub: '',
  }
}

/** A claim that is answered `false` always leaves the cursor raised, rule R10. */
function raised(row: SessionRow | undefined): Decided<SaveOutcome> {
  if (!row?.local) return conflict
  const local = { ...row.local, cursor: row.local.cursor + 1 }
  return { change: { row: { ...row, local } }, result: { kind: 'conflict' } }
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

function requireStorable(confirmations: readonly Confirmation[]): void {
  if (confirmations.length > MAX_CONFIRMATIONS) {
    throw new RejoinError('too-large', `More than ${MAX_CONFIRMATIONS} confirmations are open.`, {
      hint: 'Decide some of them first.',
    })
  }
  if (new Set(confirmations.map((each) => each.toolCallId)).size !== confirmations.length) {
    throw new RejoinError('snapshot-invalid', 'Two confirmations name the same tool call.')
  }
}

/** A device has one row of an id, and a deleted one stays until a person lets it go (G8). */
function stillKept(): RejoinError {
  return new RejoinError(
    'deleted',
    'The session was deleted elsewhere, and this device still holds unsynced work of it.',
    {
      hint: 'Let it go with rejoin.attention.discard(sessionId), then begin anew; or take another id.',
    },
  )
}

function definitionMismatch(): RejoinError {
  return new RejoinError('definition-mismatch', 'The session was stored for another definition or revision.', {
    hint: 'Move the session to the new revision with rejoin.sessions.upgrade(id, definition).',
  })
}
