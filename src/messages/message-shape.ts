import type { MessageRole, MessageStatus, ToolCallStatus } from '../contract/chat-message.ts'

const ROLES: ReadonlySet<unknown> = new Set<MessageRole>(['user', 'assistant', 'system', 'tool'])
const STATUSES: ReadonlySet<unknown> = new Set<MessageStatus>(['pending', 'streaming', 'complete', 'error'])
const CALL_STATUSES: ReadonlySet<unknown> = new Set<ToolCallStatus>([
  'pending',
  'running',
  'complete',
  'error',
  'requires_confirmation',
])

export function isMessageRole(value: unknown): value is MessageRole {
  return ROLES.has(value)
}

export function isMessageStatus(value: unknown): value is MessageStatus {
  return STATUSES.has(value)
}

export function isCallStatus(value: unknown): value is ToolCallStatus {
  return CALL_STATUSES.has(value)
}

/** Also one from another frame: hosts render chats in frames. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Also one from another frame. */
export function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === '[object Date]'
}
