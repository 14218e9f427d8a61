import type { Confirmation, Snapshot } from '../../../src/contract/session-snapshot.ts'
import type { Outcome } from '../../../src/protocol/claim-status.ts'
import type { ClaimView } from '../../../src/protocol/claim-view.ts'
import type { Epoch, Incarnation } from '../../../src/protocol/identity.ts'

/** One live session, without its snapshot. */
export interface SessionRecord {
  readonly incarnation: Incarnation
  /** Of the stored snapshot; 0 while there is none. */
  readonly cursor: number
  /** Of the last write to the snapshot; empty while there is none. */
  readonly writeId: string
  /** The conversation's initial state, from the first snapshot with a conversation. */
  readonly initial: string | null
  /** The position of the update log: its last row's. */
  readonly head: number
  /** Of all updates in the log. */
  readonly bytes: number
}

export interface Evidence {
  readonly attempt: number
  /** Who held the attempt. */
  readonly claimId: string
  /** Who said so. */
  readonly device: string
  readonly label?: string | undefined
  readonly sub: string
  readonly at: number
  readonly how: 'released' | 'taken-over' | 'asserted' | 'late-settlement'
  /** Of a late settlement. */
  readonly outcome?: Outcome | undefined
  readonly note?: string | undefined
}

/** What the server knows of one token, also after its session was deleted. */
export interface ClaimRecord extends Omit<ClaimView, 'late'> {
  readonly incarnation: Incarnation
  readonly toolCallId: string
  readonly confirmation: Confirmation
  readonly settledAt?: number | undefined
  readonly evidence: readonly Evidence[]
}

export interface TurnRecord {
  readonly turnId: string
  readonly device: string
  readonly expiresAt: number
  /** Absent: not released. */
  readonly outcome?: 'completed' | 'indeterminate' | undefined
}

export interface LogEntry {
  readonly seq: number
  readonly bytes: Uint8Array
}

/**
 * Everything about one session id that one transaction reads, as the asking device sees it. A rule decides over it and
 * answers with a {@link SessionChange}; it does no I/O and knows no clock but its context's.
 */
export interface SessionState {
  readonly session: SessionRecord | null
  readonly snapshot: Snapshot | null
  /** By token; also those of ended incarnations: a token is claimed once. */
  readonly claims: ReadonlyMap<string, ClaimRecord>
  /** The last `writeId` accepted from the asking device in the live incarnation. */
  readonly lastWriteId: string | null
  /** The turn that was not released and expires last: the only one that can be live. */
  readonly lease: TurnRecord | null
  /** The turn that the request is about. */
  readonly turn: TurnRecord | null
  /** The incarnations that were deleted. */
  readonly ended: ReadonlySet<Incarnation>
}

export interface AppendedUpdate {
  readonly seq: number
  readonly device: string
  readonly at: number
  readonly bytes: Uint8Array
}

/** The rows that a decision writes; what is absent stays. All of it commits or nothing. */
export interface SessionChange {
  readonly session?: SessionRecord
  readonly snapshot?: Snapshot
  readonly claims?: readonly ClaimRecord[]
  readonly turn?: TurnRecord
  /** The asking device's last accepted write, from now on. */
  readonly write?: { readonly writeId: string; readonly at: number }
  readonly updates?: readonly AppendedUpdate[]
  /** Ends an incarnation: its session, snapshot, updates and turns go, its claims stay without their input. */
  readonly end?: { readonly incarnation: Incarnation; readonly sub: string; readonly at: number }
}

export interface Decided<T> {
  readonly change?: SessionChange
  readonly result: T
}

/** Who asks, and when by the server's clock. */
export interface RuleContext {
  readonly server: string
  readonly epoch: Epoch
  readonly now: number
  readonly account: string
  readonly sub: string
  readonly device: string
  readonly label?: string | undefined
  /** The id of the session that the request names. */
  readonly sessionId: string
}

/** The state after a change, as the next transaction would read it. */
export function applyChange(state: SessionState, change: SessionChange): SessionState {
  const claims = new Map(state.claims)
  for (const claim of change.claims ?? []) claims.set(claim.token, claim)
  const { end } = change
  if (end && end.incarnation !== state.session?.incarnation) {
    return { ...state, claims, ended: new Set([...state.ended, end.incarnation]) }
  }
  if (end) {
    for (const claim of claims.values()) claims.set(claim.token, withoutInput(claim))
    const ended = new Set([...state.ended, end.incarnation])
    return { session: null, snapshot: null, claims, lastWriteId: null, lease: null, turn: null, ended }
  }
  return {
    session: change.session ?? state.session,
    snapshot: change.snapshot ?? state.snapshot,
    claims,
    lastWriteId: change.write?.writeId ?? state.lastWriteId,
    lease: change.turn ? laterLease(state.lease, change.turn) : state.lease,
    turn: change.turn ?? state.turn,
    ended: state.ended,
  }
}

/** What stays of a claim when its session is deleted: that it was decided, not what about. */
export function withoutInput(claim: ClaimRecord): ClaimRecord {
  return { ...claim, confirmation: { ...claim.confirmation, input: {} } }
}

function laterLease(known: TurnRecord | null, changed: TurnRecord): TurnRecord | null {
  const other = known?.turnId === changed.turnId ? null : known
  if (changed.outcome) return other
  return other && other.expiresAt > changed.expiresAt ? other : changed
}
