import type { ChatMemory } from '../../src/contract/chat-memory.ts'
import type { Message } from '../../src/contract/chat-message.ts'
import type { Persistence, PersistenceHost } from './persistence.ts'

/**
 * Core up to 1.12.8. Saves at every state change through a queue of one, where the newest wins and every error is
 * swallowed; a save that never settles ends saving for good. Loads once, whatever comes of it.
 */
export function persistEveryChange(host: PersistenceHost): Persistence {
  let asked = false
  let saving = false
  let next: { readonly memory: ChatMemory; readonly messages: readonly Message[] } | undefined

  async function drain(): Promise<void> {
    saving = true
    while (next) {
      const { memory, messages } = next
      next = undefined
      try {
        const saved = memory.save(messages as Message[])
        // Only a promise is waited for: a memory that saves in place sees every single change.
        if (saved instanceof Promise) await saved
        host.emit({ type: 'memory:save', messageCount: messages.length })
      } catch {
        // Nobody hears of it: in this regime a memory needs a channel of its own for errors.
      }
    }
    saving = false
  }

  return {
    hydrate: async () => {
      const memory = host.memory()
      if (asked || !memory) return
      asked = true
      try {
        const loaded = await memory.load()
        if (loaded.length === 0 || host.messages().length > 0) return
        host.hydrate(loaded)
        host.emit({ type: 'memory:load', messageCount: loaded.length })
      } catch {
        // Never asked again, so the next save replaces what could not be read.
      }
    },
    changed: () => {
      const memory = host.memory()
      if (!memory) return
      next = { memory, messages: host.messages() }
      if (!saving) void drain()
    },
    settled: async () => {},
    awaiting: async () => {},
    clear: async () => {
      await host.disposeTools()
      host.empty()
      // Not through the queue: while a save is under way, memory sees this before the save of the empty list.
      await host.memory()?.clear?.()
    },
  }
}
