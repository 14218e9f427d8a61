import type { SessionStorage } from './session-storage.ts'

/**
 * What a storage may offer beyond {@link SessionStorage}. Each member is optional: a session on a plain storage works,
 * it only learns of other writers at its next conflict.
 */
export interface LiveSessionStorage extends SessionStorage {
  /**
   * Calls `listener` after the stored snapshot of the session changed or went away, whoever did it: this tab, another
   * tab, another device, a rebase. The listener gets no value and calls `load`; several changes may share one call, and
   * a call without a change is harmless. Returns the way to stop, after which the listener is not called again.
   */
  readonly watch?: (sessionId: string, listener: () => void) => () => void
  /** Epoch ms by the server's clock, as well as this device knows it. Absent: the device's own clock counts. */
  readonly now?: () => number
  readonly claims?: LiveClaims
}

/** The decisions of this device that wait for the server, run, or need a person; the same in all of its tabs. */
export interface LiveClaims {
  /** The same array until something changed. Claims of all sessions of the account. */
  readonly get: () => readonly QueuedClaim[]
  readonly subscribe: (listener: () => void) => () => void
  /**
   * Registers who runs claims of a session that were queued and won later (`save` had rejected with `claim-queued`).
   * For each such claim the storage calls one handler, in exactly one page, after the transaction that moved the claim
   * to `running`: the call is the permission to run it, once. Afterwards the storage itself settles the claim and the
   * stored status, and `watch` tells of it. Returns the way to stop; a handler that already runs is not stopped.
   *
   * A claim that this page's `save` answered `true` is never handed to the handler.
   */
  readonly run: (sessionId: string, handler: ClaimHandler) => () => void
  /**
   * Says that the session is open in this page in a layer that looks again after a conflict, and settles what it claimed
   * then. While a claim of a layer runs that does not say so, the storage holds back what others did to the session.
   * Returns the way to say that it is closed.
   */
  readonly attend?: (sessionId: string) => () => void
  /**
   * Declares that nothing ran for a claim that this page's `save` had answered `true`: the chat had no such call
   * waiting. The claim is given back and the confirmation becomes pending again, in a further attempt.
   */
  readonly release?: (sessionId: string, token: string, reason: string) => void | Promise<void>
  /**
   * Says that a run which this page's `save` had answered `true` broke off, and nobody knows what it did. The claim is
   * listed for a person, in every tab.
   */
  readonly interrupt?: (sessionId: string, token: string, reason: string) => void | Promise<void>
}

/**
 * Runs one won claim. `ran`: its outcome was seen. `nothing-to-run`: the chat had no such call waiting, and nothing
 * happened. A rejection says that nobody knows, and leaves the claim to a person.
 */
export type ClaimHandler = (claim: ClaimToRun) => Promise<'ran' | 'nothing-to-run'>

export interface ClaimToRun {
  readonly token: string
  readonly toolCallId: string
  readonly want: 'approving' | 'rejecting' | 'expiring'
  readonly attempt: number
  /** Stays the same when the same permission is used again: an idempotency key for the effect. */
  readonly claimId: string
}

/** An unfinished claim, as every tab of the device sees it. */
export interface QueuedClaim extends ClaimToRun {
  readonly sessionId: string
  /**
   * `waiting`: not sent. `sent`: sent, the answer is open. `won`: may run, a page has to take it. `running`: a page
   * runs it. `attention`: a run broke off, a person decides.
   */
  readonly state: 'waiting' | 'sent' | 'won' | 'running' | 'attention'
  /** When the person decided, epoch ms by this device's clock. */
  readonly deviceAt: number
}
