import type {
  ClaimRow,
  Decided,
  DeleteRow,
  DeviceSession,
  MetaRow,
  SessionRow,
  UpdateRow,
} from '../core/device-session.ts'
import type { Incarnation } from '../protocol/identity.ts'

/** `strict`: on disk when it resolves, also through a power cut. `relaxed`: survives the death of tab and browser. */
export type Durability = 'strict' | 'relaxed'

export interface AppendUpdates {
  readonly incarnation: Incarnation
  readonly origin: UpdateRow['origin']
  readonly bytes: readonly Uint8Array[]
}

/** A session and the highest `seq` of its updates, `0` for none. */
export interface SessionWithUpdates extends DeviceSession {
  readonly lastSeq: number
}

export interface DecidedWithUpdates<T> extends Decided<T> {
  /** Rows get `lastSeq + 1`, `lastSeq + 2`, … in this order. */
  readonly append?: AppendUpdates
}

/**
 * What was committed; `remote` says that another tab did it. Updates with a `firstSeq` above the next one that a
 * listener expects, or without `bytes`, tell of updates that it did not hear of (this page was in the back/forward
 * cache, or two tabs' messages overtook each other): they are on disk.
 */
export type DatabaseEvent =
  | { readonly kind: 'session'; readonly sessionId: string; readonly remote: boolean }
  | {
      readonly kind: 'updates'
      readonly sessionId: string
      readonly incarnation: Incarnation
      readonly origin: UpdateRow['origin']
      readonly firstSeq: number
      readonly bytes: readonly Uint8Array[]
      readonly remote: boolean
    }
  | { readonly kind: 'meta'; readonly remote: boolean }

/**
 * One account's database on this device: stores `sessions`, `updates`, `outbox`, `meta`.
 *
 * Each write is one transaction that reads, decides synchronously and writes; it resolves when the transaction is
 * complete, and rejects with `storage-unavailable`, `storage-full`, `storage-corrupt` or `closed` with nothing written.
 * Listeners hear of a commit after it, in this tab and in the others.
 */
export interface Database {
  /** False: everything is in memory and ends with this tab. */
  readonly persistent: boolean
  readonly transact: <T>(
    sessionId: string,
    durability: Durability,
    decide: (session: DeviceSession) => Decided<T>,
  ) => Promise<T>
  /** The same, over the updates too. */
  readonly transactUpdates: <T>(
    sessionId: string,
    durability: Durability,
    decide: (session: SessionWithUpdates) => DecidedWithUpdates<T>,
  ) => Promise<T>
  readonly read: (sessionId: string) => Promise<DeviceSession>
  readonly sessions: () => Promise<readonly SessionRow[]>
  readonly claims: () => Promise<readonly ClaimRow[]>
  readonly deletes: () => Promise<readonly DeleteRow[]>
  /** In order of `seq`, those above `afterSeq`; a row that cannot be read is left out and reported to `onCorrupt`. */
  readonly updates: (
    sessionId: string,
    options?: {
      readonly afterSeq?: number
      readonly origin?: UpdateRow['origin']
      readonly onCorrupt?: (seq: number) => void
    },
  ) => Promise<readonly UpdateRow[]>
  readonly lastSeq: (sessionId: string) => Promise<number>
  /**
   * Replaces the rows with `fromSeq ≤ seq ≤ toSeq` by one with `seq = toSeq`, if exactly `expectedRows` of them are
   * there in `incarnation`; else false and nothing is written.
   */
  readonly compactUpdates: (
    sessionId: string,
    range: { readonly fromSeq: number; readonly toSeq: number; readonly expectedRows: number },
    row: { readonly incarnation: Incarnation; readonly origin: UpdateRow['origin']; readonly bytes: Uint8Array },
  ) => Promise<boolean>
  readonly meta: () => Promise<MetaRow>
  readonly updateMeta: (change: (meta: MetaRow) => MetaRow) => Promise<MetaRow>
  readonly subscribe: (listener: (event: DatabaseEvent) => void) => () => void
  readonly close: () => Promise<void>
}
