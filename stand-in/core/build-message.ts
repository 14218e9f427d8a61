import type { ContentPart, Message, MessageRole, MessageStatus, ToolCall } from '../../src/contract/chat-message.ts'
import { generateId } from './generate-id.ts'

export interface MessageFields {
  readonly id?: string
  readonly role: MessageRole
  readonly content: string
  readonly parts?: readonly ContentPart[]
  readonly status?: MessageStatus
  readonly toolCalls?: readonly ToolCall[]
  readonly toolCallId?: string
  readonly metadata?: Record<string, unknown>
  readonly createdAt?: Date
}

/** A message with its absent optionals spelled out as `undefined`, so a raw one fails strict validators. */
export function buildMessage(fields: MessageFields): Message {
  const { metadata, toolCallId } = fields
  const message = {
    ...fields,
    id: fields.id ?? generateId(),
    status: fields.status ?? 'complete',
    metadata,
    toolCallId,
    createdAt: fields.createdAt ?? new Date(),
  }
  return message as Message
}
