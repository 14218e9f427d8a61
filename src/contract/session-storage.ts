import type { Snapshot } from './session-snapshot.ts'

type MaybePromise<T> = T | Promise<T>

/**
 * Compare-and-set storage of session snapshots, as the chat's session layer calls it.
 *
 * - `load` answers `undefined` for a session that does not exist.
 * - `save` with no `expectedCursor` creates only; with one it updates only if the stored cursor is equal. `false` is a
 *   conflict and nothing was written; a rejection is a failure and nothing was written that a retry would meet.
 * - A save that moves a confirmation out of `pending` is a claim: `true` is the permission to run it.
 */
export interface SessionStorage {
  readonly load: (sessionId: string, signal?: AbortSignal) => MaybePromise<unknown>
  readonly save: (snapshot: Snapshot, expectedCursor: number | undefined, signal?: AbortSignal) => MaybePromise<boolean>
  readonly delete?: (sessionId: string, signal?: AbortSignal) => MaybePromise<void>
}
