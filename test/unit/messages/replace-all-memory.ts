import type { ChatMemory } from '../../../src/contract/chat-memory.ts'
import type { Message } from '../../../src/contract/chat-message.ts'
import { encodeMessage, requireMessages } from '../../../src/messages/encode-message.ts'

/**
 * A memory as AgentsKit describes it and no more: what is saved takes the place of everything, validated and isolated
 * from its callers. Returns the way to open a session; all memories of one session share its messages.
 */
export function createReplaceAllMemory(): (sessionId: string) => Required<ChatMemory> {
  const stored = new Map<string, Message[]>()
  return (sessionId) => ({
    async load({ signal } = {}) {
      signal?.throwIfAborted()
      return structuredClone(stored.get(sessionId) ?? [])
    },
    async save(messages, { signal } = {}) {
      signal?.throwIfAborted()
      requireMessages(messages)
      for (const message of messages) encodeMessage(message)
      stored.set(sessionId, structuredClone(messages))
    },
    async clear({ signal } = {}) {
      signal?.throwIfAborted()
      stored.delete(sessionId)
    },
  })
}
