import type { MessageRole, MessageStatus, ToolCallStatus } from '../contract/chat-message.ts'

/**
 * A message as it lies in a document: everything of it that is kept, and nothing that somebody else could still change.
 * Free-form values are canonical JSON text, so that equal values are equal strings.
 */
export interface StoredMessage {
  readonly id: string
  readonly role: MessageRole
  /** Well-formed: every surrogate has its other half. */
  readonly content: string
  readonly status: MessageStatus
  /** ISO 8601, as `Date.prototype.toISOString` writes it. */
  readonly createdAt: string
  readonly toolCallId: string | undefined
  /** JSON text of an array. */
  readonly parts: string | undefined
  /** JSON text of an object, without what has a field of its own below. */
  readonly metadata: string | undefined
  /** `metadata.reasoning`: it streams like the content, so it is kept like the content. */
  readonly reasoning: string | undefined
  /** `metadata.interrupted`: its writer died in the middle, and the message was closed for it. */
  readonly interrupted: boolean
  readonly calls: readonly StoredCall[]
}

export interface StoredCall {
  readonly id: string
  readonly name: string
  /** JSON text of an object. */
  readonly args: string
  readonly status: ToolCallStatus
  readonly result: string | undefined
  readonly error: string | undefined
}
