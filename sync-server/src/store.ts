import type { Epoch, Incarnation } from '../../src/protocol/identity.ts'
import type { Decided, LogEntry, SessionState } from './rules/session-state.ts'

/** Which rows a decision is about. */
export interface DecisionScope {
  readonly account: string
  readonly sessionId: string
  /** Whose last write it reads and writes. */
  readonly device: string
  /** The turn that the state shows as `turn`. */
  readonly turnId?: string
  /** Also read the log after this position. */
  readonly logAfter?: number
}

/** What one transaction reads. */
export interface StoredState extends SessionState {
  /** The live session's log after `logAfter`, in order; empty if it was not asked for. */
  readonly log: readonly LogEntry[]
}

export interface LogPage {
  readonly incarnation: Incarnation
  /** The position of the log at that moment. */
  readonly head: number
  readonly entries: readonly LogEntry[]
  /** True: the page ends before `head`. */
  readonly more: boolean
}

export interface FeedEntry {
  readonly sessionId: string
  readonly incarnation: Incarnation
  readonly seq: number
  readonly cursor: number
  readonly writeId: string
  /** The position of the session's update log. */
  readonly head: number
  readonly deleted: boolean
}

export interface FeedPage {
  readonly head: number
  readonly floor: number
  readonly entries: readonly FeedEntry[]
  readonly more: boolean
}

/**
 * Where the server keeps everything, one account apart from the other: no call reads or writes a row of an account that
 * it does not name.
 *
 * Consistency: decisions over one session happen one after the other, each on what the one before left; `decide` runs
 * in the middle of a transaction, may run again if that has to be repeated, and must be pure and synchronous. When the
 * promise resolves, the change is durable: it survives the death of the process and of the machine. When it rejects,
 * nothing of the change is stored, or (only if the connection broke during the commit) it is unknown whether it is.
 * Promises of one session resolve in the order of their transactions. A read sees everything that resolved before it
 * was asked, and nothing that was not committed.
 *
 * Every change to a session, its snapshot, its claims or its log moves the session to the head of its account's feed.
 */
export interface Store {
  /** Made with the store; another store, or a restored one, has another. */
  readonly epoch: Epoch
  readonly decide: <T>(scope: DecisionScope, decide: (state: StoredState) => Decided<T>) => Promise<T>
  /** `undefined`: no session lives under this id. At least one entry, if there is one, whatever its size. */
  readonly updates: (
    key: { readonly account: string; readonly sessionId: string },
    after: number,
    maxBytes: number,
  ) => Promise<LogPage | undefined>
  readonly feed: (account: string, since: number, maxItems: number) => Promise<FeedPage>
  /** What is under way is finished; afterwards every call rejects. */
  readonly close: () => Promise<void>
}
