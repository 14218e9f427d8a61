import type { Message } from '../../src/contract/chat-message.ts'
import { memoryError } from './errors.ts'
import type { Persistence, PersistenceHost } from './persistence.ts'

/**
 * Core 1.13 and later. Saves when a turn is complete, one save per turn without a queue, waits for it and shows its
 * error in the state. A load that failed is tried again with the next configuration.
 */
export function persistFinalized(host: PersistenceHost): Persistence {
  let asked = false

  async function save(): Promise<void> {
    const memory = host.memory()
    if (!memory) return
    const messages = host.messages()
    try {
      await memory.save(messages as Message[])
      host.emit({ type: 'memory:save', messageCount: messages.length })
    } catch (cause) {
      host.fail(memoryError('AK_MEMORY_SAVE_FAILED', cause))
    }
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
      } catch (cause) {
        asked = false
        host.fail(memoryError('AK_MEMORY_LOAD_FAILED', cause))
      }
    },
    changed: () => {},
    settled: save,
    awaiting: save,
    clear: async () => {
      host.abandon()
      host.empty()
      try {
        await Promise.all([host.disposeTools(), host.memory()?.clear?.()])
      } catch (cause) {
        host.fail(memoryError('AK_MEMORY_CLEAR_FAILED', cause))
      }
    },
  }
}
