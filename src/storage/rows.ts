import type { MetaRow, OutboxRow, SessionRow, UpdateRow } from '../core/device-session.ts'
import type { Durability } from './database.ts'
import type { OutboxKey, StoreName } from './schema.ts'

/**
 * The rows that one open transaction reaches. What is read is as it was on disk: nobody has looked at it yet. A write
 * that fails fails its transaction.
 */
export interface Rows {
  session(sessionId: string): Promise<unknown>
  sessions(): Promise<readonly unknown[]>
  sessionIds(): Promise<readonly string[]>
  /** Of one session, or of all. */
  outbox(sessionId?: string): Promise<readonly unknown[]>
  /** The keys of the same rows in the same order. */
  outboxKeys(sessionId?: string): Promise<readonly OutboxKey[]>
  /** In order of `seq`, both ends included. */
  updates(sessionId: string, fromSeq: number, toSeq: number): Promise<readonly unknown[]>
  updateSeqs(sessionId: string, fromSeq: number, toSeq: number): Promise<readonly number[]>
  /** `0` for none. */
  lastSeq(sessionId: string): Promise<number>
  meta(): Promise<unknown>

  putSession(row: SessionRow): void
  removeSession(sessionId: string): void
  putOutbox(row: OutboxRow): void
  removeOutbox(key: OutboxKey): void
  putUpdate(row: UpdateRow): void
  removeUpdates(sessionId: string, fromSeq: number, toSeq: number): void
  putMeta(row: MetaRow): void
}

/** `read` is a transaction that cannot write. */
export type Access = 'read' | Durability

/** What a transaction is: where the rows come from (IndexedDB, memory) is the engine's, what they mean is not. */
export interface Engine {
  readonly persistent: boolean
  /**
   * Calls `read`, which asks for all that it needs at once, then `decide` with what was found, and resolves with its
   * result when everything that it wrote is committed. `decide` is called at most once, and exactly once when this
   * resolves. What it throws is rethrown as it is, and nothing is written; anything else rejects with a RejoinError.
   * Neither may wait for anything but `rows`.
   */
  transaction<Found, Result>(
    access: Access,
    stores: readonly StoreName[],
    read: (rows: Rows) => Promise<Found>,
    decide: (found: Found, rows: Rows) => Result | Promise<Result>,
  ): Promise<Result>
  close(): Promise<void>
}
