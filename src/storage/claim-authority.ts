import type { ClaimRow } from '../core/device-session.ts'
import type { ClaimView } from '../protocol/claim-view.ts'
import type { Incarnation } from '../protocol/identity.ts'
import type { Problem } from '../protocol/problem.ts'
import type { ClaimAnswer } from '../protocol/put-claim.ts'
import type { TurnAnswer } from '../protocol/put-turn.ts'
import type { SessionAnswer } from '../protocol/session-answer.ts'

/** Whoever decides what this device may not decide alone: the server, as far as it can be reached. */
export interface ClaimAuthority {
  /** `device`: there is no server. `offline`: known not to be reachable. `server`: reachable as far as known. */
  readonly via: () => 'device' | 'offline' | 'server'
  /** One round trip, at most 5 s. The row is on disk as `sent`, so that it may be asked again. */
  readonly claim: (row: ClaimRow, signal?: AbortSignal) => Promise<ClaimAnswer | 'unreachable'>
  /** `refused`: the server will never take it. */
  readonly release: (
    row: ClaimRow,
    note: string,
  ) => Promise<ClaimAnswer | { readonly refused: Problem } | 'unreachable'>
  /** A person says that nobody holds a token that a restore put in doubt. One round trip, at most 5 s. */
  readonly clearDoubt: (
    doubt: { readonly sessionId: string; readonly view: ClaimView },
    note: string,
    signal?: AbortSignal,
  ) => Promise<ClaimAnswer | { readonly refused: Problem } | 'unreachable'>
  readonly takeTurn: (
    turn: {
      readonly sessionId: string
      readonly incarnation: Incarnation
      readonly turnId: string
      readonly leaseMs: number
    },
    signal?: AbortSignal,
  ) => Promise<TurnAnswer | 'unreachable'>
  /** The session's first load from the server, shared and bounded, rule I4; resolves also when there is nothing. */
  readonly firstLoad: (sessionId: string, signal?: AbortSignal) => Promise<void>
  /** Takes the rest of an answer: pulls its updates first, then merges its snapshot. */
  readonly received: (sessionId: string, answer: SessionAnswer) => void
}
