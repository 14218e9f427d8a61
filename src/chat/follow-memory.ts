import type { ChatController } from '../contract/chat.ts'
import type { ChatMemory } from '../contract/chat-memory.ts'
import type { Message } from '../contract/chat-message.ts'

/** A memory that a controller saves to, and that also hears of what the controller keeps to itself. */
export interface FollowedMemory {
  /** Hand this one to the controller. */
  readonly memory: ChatMemory
  /** Saves each change of the messages that the controller does not save by itself. Returns the way to stop. */
  readonly saveChanges: (controller: Pick<ChatController, 'getState' | 'subscribe'>) => () => void
}

/**
 * From core 1.13 a controller saves finished turns only: a tab that dies in the middle of an answer would take the
 * question with it, and no other tab would see a word before the end. Earlier ones save each change; they are recognised
 * by their first and then left alone. `onSaved` is called after each save that succeeded.
 */
export function followMemory(memory: ChatMemory, onSaved: (messages: readonly Message[]) => void): FollowedMemory {
  let asked: readonly Message[] | undefined
  let savesEachChange: boolean | undefined

  async function save(messages: Message[], options?: Parameters<ChatMemory['save']>[1]): Promise<void> {
    asked = messages
    await memory.save(messages, options)
    onSaved(messages)
  }

  function saveChanges({ getState, subscribe }: Pick<ChatController, 'getState' | 'subscribe'>): () => void {
    let seen: readonly Message[] = getState().messages
    let saving = false

    const stop = subscribe(() => {
      const { messages } = getState()
      if (messages === seen || savesEachChange) return
      seen = messages
      // What a controller saves by itself it has asked for by then.
      queueMicrotask(() => {
        savesEachChange ??= asked === messages
        if (!savesEachChange && !saving) void saveNewest()
      })
    })

    async function saveNewest(): Promise<void> {
      saving = true
      while (asked !== getState().messages) {
        // Why it failed is told by the messages themselves and by the status; the next change is saved again.
        await save(getState().messages as Message[]).catch(() => undefined)
      }
      saving = false
    }

    return stop
  }

  return { memory: { ...memory, save }, saveChanges }
}
