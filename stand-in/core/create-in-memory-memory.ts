import type { ChatMemory } from '../../src/contract/chat-memory.ts'
import type { Message } from '../../src/contract/chat-message.ts'

/** Keeps the messages for the life of the page. Every `load` gives an array of its own. */
export function createInMemoryMemory(initialMessages: readonly Message[] = []): ChatMemory {
  let kept: readonly Message[] = [...initialMessages]
  return {
    load: async (options) => {
      options?.signal?.throwIfAborted()
      return [...kept]
    },
    save: async (messages, options) => {
      options?.signal?.throwIfAborted()
      kept = [...messages]
    },
    clear: async (options) => {
      options?.signal?.throwIfAborted()
      kept = []
    },
  }
}
