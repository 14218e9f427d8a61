import type { Message, ToolCall } from './chat-message.ts'

/** A call that waits for a person, and what became of it. */
export interface ToolDecisionRecord {
  readonly toolCallId: string
  /** The conversation in which the call waits. */
  readonly messages: Message[]
  readonly status: 'pending' | 'claimed' | 'complete' | 'failed' | 'denied'
  readonly decision?: 'approve' | 'deny'
  readonly reason?: string
  /** The call as it ended. */
  readonly outcome?: ToolCall
}

/**
 * Where AgentsKit's controller, from core 1.15, keeps calls that wait for a person beyond its own life. One store is for
 * one conversation.
 */
export interface ToolDecisionStore {
  /** Keeps a call; one that is known stays as it is. */
  putPending(record: ToolDecisionRecord): Promise<void>
  get(toolCallId: string): Promise<ToolDecisionRecord | undefined>
  /** The record for exactly one caller, who then runs the decision; `undefined` for everybody else. */
  claim(toolCallId: string, decision: 'approve' | 'deny', reason?: string): Promise<ToolDecisionRecord | undefined>
  /** Keeps how it ended. @throws for whoever has not claimed it. */
  settle(record: ToolDecisionRecord): Promise<void>
}
