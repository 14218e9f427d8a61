import type { Confirmation, Decision, Snapshot } from '../contract/session-snapshot.ts'
import type { Outcome, Want } from '../protocol/claim-status.ts'
import type { ClaimView } from '../protocol/claim-view.ts'
import type { Epoch, ETag, Incarnation } from '../protocol/identity.ts'
import type { Problem } from '../protocol/problem.ts'
import type { Lease, SessionAnswer } from '../protocol/session-answer.ts'

/** A server snapshot as the server stored it: what this device stands on. */
export interface Base {
  readonly snapshot: Snapshot
  readonly etag: ETag
  readonly cursor: number
  /** The position of the server's update log at that moment. */
  readonly head: number
}

/** A `PUT` that was dispatched and not answered; it is sent again unchanged until it is. */
export interface Sent {
  readonly writeId: string
  readonly snapshot: Snapshot
  /** `null`: create. */
  readonly ifMatch: ETag | null
  /** Tokens that left in an earlier epoch, rule I5. */
  readonly inDoubt: readonly string[]
}

/** A device's row of one session. Fields and their rules: R1 to R10. */
export interface SessionRow {
  readonly sessionId: string
  readonly incarnation: Incarnation
  /** Incarnations that this row gave up for the server's, rule I2: tabs and updates under them belong to it. */
  readonly was?: readonly Incarnation[] | undefined
  /** The server has acknowledged something of this incarnation; never goes back. */
  readonly confirmed: boolean
  /** Absent: known from the feed, or messages only. */
  readonly local?: Snapshot | undefined
  /** The conversation's initial state, set at the first save with a conversation. */
  readonly initial?: string | undefined
  readonly dirty: boolean
  readonly base?: Base | undefined
  readonly sent?: Sent | undefined
  /** Token → the epoch in which it left this device; only grows, survives the loss of `base`. */
  readonly left: Readonly<Record<string, Epoch>>
  readonly claims: Readonly<Record<string, ClaimView>>
  readonly lease?: Lease | undefined
  /** The last local update's seq that the server acknowledged. */
  readonly acked: number
  /** The last server position stored. */
  readonly pulled: number
  /** The epoch that the row entered after a restore, rule I5: answers of earlier ones are not for it. */
  readonly epoch?: Epoch | undefined
  /** The server began another epoch: its log is to be compared with the whole document, rule I5. */
  readonly giveBack?: true | undefined
  /** An answer that is held back while a claim runs. */
  readonly incoming?: SessionAnswer | undefined
  readonly refused?: (Problem & { readonly writeId: string }) | undefined
  readonly diverged?: readonly Decision[] | undefined
  /** Late settlements of its tokens that the person here has seen, rule K8. */
  readonly seenLate?: readonly string[] | undefined
  readonly deleted?: { readonly at: number; readonly unsynced: boolean } | undefined
}

export type ClaimState =
  | 'waiting'
  | 'sent'
  | 'won'
  | 'running'
  | 'attention'
  | 'settled'
  | 'lost'
  | 'expired'
  | 'refused'
  | 'withdrawn'
  | 'released'
  | 'taken-over'

/** One decision of a person on this device, on its way to the server and through its run. */
export interface ClaimRow {
  readonly kind: 'claim'
  readonly claimId: string
  readonly sessionId: string
  readonly incarnation: Incarnation
  readonly token: string
  readonly toolCallId: string
  readonly want: Want
  readonly confirmation: Confirmation
  /** Decided by this device alone: the token had never left it. */
  readonly own: boolean
  readonly state: ClaimState
  readonly attempt: number
  readonly outcome?: Outcome | undefined
  /** The server acknowledged the settlement. */
  readonly told: boolean
  readonly expectedCursor?: number | undefined
  /** When the person decided. Epoch ms by this device's clock, as are the other two. */
  readonly deviceAt: number
  /** When it became `won`: a page has to take it, rule K7. */
  readonly wonAt?: number | undefined
  /** When it became `running`, rules K5 and K8. */
  readonly startedAt?: number | undefined
  /**
   * A save of a session layer that is not ours asked for it, and settles it with a save at the cursor that it knows: the
   * session waits for that, rule K5.
   */
  readonly foreign?: true | undefined
  /** The person, as the access token named them to the server that gave the permission; empty before that. */
  readonly sub: string
  readonly problem?: Problem | undefined
  /** The server takes neither it nor its outcome: it is listed, and not sent again before a person asks for that. */
  readonly undeliverable?: Problem | undefined
}

export interface DeleteRow {
  readonly kind: 'delete'
  readonly sessionId: string
  readonly incarnation: Incarnation
  readonly deviceAt: number
  /** The server will not delete it: it is listed, and not asked again before a person wants that. */
  readonly problem?: Problem | undefined
}

export type OutboxRow = ClaimRow | DeleteRow

/** Yjs bytes. A compacted row keeps the highest `seq` that it replaced. */
export interface UpdateRow {
  readonly sessionId: string
  readonly incarnation: Incarnation
  readonly seq: number
  readonly origin: 'local' | 'server'
  readonly bytes: Uint8Array
}

export interface MetaRow {
  readonly device: string
  readonly label: string
  readonly account: string
  readonly realm: string
  readonly serverId?: string | undefined
  readonly epoch?: Epoch | undefined
  /** The position of the account's change feed up to which this device knows. */
  readonly since: number
  /** Server clock minus device clock. */
  readonly clockOffsetMs: number
}

/** Everything on disk about one session except its updates, as one transaction reads it. */
export interface DeviceSession {
  readonly row: SessionRow | undefined
  readonly claims: readonly ClaimRow[]
  readonly deletes: readonly DeleteRow[]
}

/** What a decision writes: absent fields stay. Claim rows are put by `claimId`. */
export interface DeviceChange {
  /** `null` removes the row. */
  readonly row?: SessionRow | null
  readonly putClaims?: readonly ClaimRow[]
  readonly removeClaims?: readonly string[]
  readonly putDelete?: DeleteRow
  /** By incarnation. */
  readonly removeDelete?: Incarnation
  /** Removes the updates of these incarnations. */
  readonly removeUpdates?: readonly Incarnation[]
}

/** A decision over one session: what to write, and what to tell the caller. */
export interface Decided<T> {
  readonly change?: DeviceChange
  readonly result: T
}
