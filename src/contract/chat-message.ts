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

/** A typed piece of a message: text, image, audio, video or file. Its fields are kept whole. */
export interface ContentPart {
  readonly type: string
  readonly [field: string]: unknown
}

export interface Message {
  readonly id: string
  readonly role: MessageRole
  readonly content: string
  readonly parts?: readonly ContentPart[]
  readonly status: MessageStatus
  readonly toolCalls?: readonly ToolCall[]
  readonly toolCallId?: string
  readonly metadata?: Record<string, unknown>
  readonly createdAt: Date
}
