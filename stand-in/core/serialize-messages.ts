import type { Message } from '../../src/contract/chat-message.ts'

export type SerializedMessage = Omit<Message, 'createdAt'> & { readonly createdAt: string }

export interface MemoryRecord {
  readonly version: 1
  readonly messages: SerializedMessage[]
}

/** A JSON round trip: `undefined` members vanish, dates become ISO text, cycles throw. */
export function serializeMessages(messages: readonly Message[]): MemoryRecord {
  return JSON.parse(JSON.stringify({ version: 1, messages })) as MemoryRecord
}

/** Restores the dates and nothing else: a record is not validated here. */
export function deserializeMessages(record: MemoryRecord | null | undefined): Message[] {
  if (!record) return []
  return record.messages.map((message) => ({ ...message, createdAt: new Date(message.createdAt) }))
}
