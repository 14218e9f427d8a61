import type { ToolCall } from '../../src/contract/chat-message.ts'

type MaybePromise<T> = T | Promise<T>

export interface ToolDecision {
  readonly call: ToolCall
  readonly status: 'pending' | 'claimed' | 'settled'
}

/** Keeps the calls that wait for a person beyond the life of a controller. */
export interface ToolDecisionStore {
  readonly putPending: (call: ToolCall) => MaybePromise<void>
  readonly get: (toolCallId: string) => MaybePromise<ToolDecision | undefined>
  /** True for exactly one caller. */
  readonly claim: (toolCallId: string, decision: 'approve' | 'deny') => MaybePromise<boolean>
  readonly settle: (toolCallId: string, call: ToolCall) => MaybePromise<void>
}
