import type { ChatConfig } from '../contract/chat.ts'
import type { ActionConfirmation } from './action-confirmation.ts'
import type { ActionConfirmationCoordinator, CoordinatorOptions } from './confirmation-coordinator.ts'
import type { ConversationSnapshot } from './conversation.ts'

export interface SessionConfirmationOptions extends CoordinatorOptions {
  /** Ends the use of this chat for decisions that were queued offline and won later. Default: the session's end. */
  readonly signal?: AbortSignal
}

/**
 * One chat session: its conversation, confirmations and turns, stored by compare-and-set beside the messages
 * (ADR-0006, ADR-0011).
 *
 * Somebody else's saves are taken over: as they happen where the storage can be watched, else at the next conflict. A
 * session is never left behind for good.
 */
export interface ChatSession<C extends ChatConfig = ChatConfig> {
  readonly sessionId: string
  readonly definitionId: string
  readonly definitionRevision: number
  /** The definition's chat with the adapter that answers routes first: hand this one to the binding. */
  readonly chat: C
  /** Another configuration over the same conversation. One that is wrapped already is not wrapped twice. */
  readonly updateChat: <D extends ChatConfig>(chat: D) => D
  /** `undefined` without a conversation. The same object until the state changes. */
  readonly getConversationSnapshot: () => ConversationSnapshot | undefined
  /** All coordinators of one session share its one list of confirmations. */
  readonly createConfirmation: (options: SessionConfirmationOptions) => ActionConfirmationCoordinator
  /** The same array until something changed. */
  readonly getConfirmations: () => readonly ActionConfirmation[]
  /**
   * Stores the present state; N calls are N saves, in call order.
   *
   * @throws SessionConflictError when somebody else saved first: their state is taken over, and the next call stands on
   * it. RejoinError `too-large` or `snapshot-invalid` for a state that the envelope cannot hold, `deleted`,
   * `definition-mismatch` or `closed` once the session has ended. The storage's own errors pass unchanged.
   */
  readonly persist: (signal?: AbortSignal) => Promise<void>
  /** The last cursor that this session knows. */
  readonly getCursor: () => number
  /**
   * Takes the session's turn slot for `leaseMs`. `false`: the turn has ended already, or another one holds the slot.
   *
   * @throws SessionConflictError when another client took the slot first; ConfigError for an invalid id or time.
   */
  readonly claimTurn: (turnId: string, leaseMs: number, signal?: AbortSignal) => Promise<boolean>
  /** Ends the turn if it holds the slot, else does nothing. The last 64 ends are kept. */
  readonly releaseTurn: (turnId: string, outcome: 'completed' | 'indeterminate', signal?: AbortSignal) => Promise<void>
  /** Why what is shown is not stored: the last background save failed, or the session is gone. */
  readonly getProblem: () => Error | undefined
  /** Called after anything that the getters show has changed. Returns the way to stop. */
  readonly subscribe: (listener: () => void) => () => void
  /** Ends watching and saving. A decision that already runs is still settled. */
  readonly close: () => void
}
