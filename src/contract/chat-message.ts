export type MessageRole = 'user' | 'assistant' | 'system' | 'tool'
export type MessageStatus = 'pending' | 'streaming' | 'complete' | 'error'
export type ToolCallStatus = 'pending' | 'running' | 'complete' | 'error' | 'requires_confirmation'

export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly args: Record<string, unknown>
  readonly result?: string
  readonly error?: string
  readonly status: ToolCallStatus
}

/**
 * A typed piece of a message. `source` is a data or http URL, or an id at the provider. Kinds and fields that are not
 * named here are kept whole too.
 */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image'
      readonly source: string
      readonly mimeType?: string
      readonly detail?: 'low' | 'high' | 'auto'
    }
  | {
      readonly type: 'audio' | 'video'
      readonly source: string
      readonly mimeType?: string
      readonly durationSec?: number
    }
  | { readonly type: 'file'; readonly source: string; readonly mimeType?: string; readonly filename?: string }

/** Arrays are mutable in type alone, as AgentsKit has them: a message of either passes for one of the other. */
export interface Message {
  readonly id: string
  readonly role: MessageRole
  readonly content: string
  readonly parts?: ContentPart[]
  readonly status: MessageStatus
  readonly toolCalls?: ToolCall[]
  readonly toolCallId?: string
  readonly metadata?: Record<string, unknown>
  readonly createdAt: Date
}
