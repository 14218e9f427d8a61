import type { ChatController } from '../contract/chat.ts'
import type { ChatMemory } from '../contract/chat-memory.ts'
import type { Message } from '../contract/chat-message.ts'
import type { Caller } from '../messages/lineage.ts'
import type { SaveOptions } from '../messages/memory.ts'

/** A memory that a controller saves to, and that also hears of what the controller keeps to itself. */
export interface FollowedMemory {
  /** Hand this one to the controller. */
  readonly memory: ChatMemory
  /** Saves each change of the messages that the controller does not save by itself. Returns the way to stop. */
  readonly saveChanges: (controller: Pick<ChatController, 'getState' | 'subscribe'>) => () => void
}

export interface MemoryFollower {
  /** Who saves. */
  readonly caller: Caller
  readonly onLoaded: (messages: readonly Message[]) => void
  /** After each save that succeeded. */
  readonly onSaved: (messages: readonly Message[]) => void
}

/**
 * From core 1.13 a controller saves finished turns only: a tab that dies in the middle of an answer would take the
 * question with it, and no other tab would see a word before the end. Earlier ones save each change. Which it is does
 * not have to be known: what a controller has not asked to save by the time it could have is saved for it.
 */
export function followMemory(memory: ChatMemory, { caller, onLoaded, onSaved }: MemoryFollower): FollowedMemory {
  let asked: readonly Message[] | undefined
  let underWay: Promise<void> | undefined

  async function load(options?: Parameters<ChatMemory['load']>[0]): Promise<Message[]> {
    const messages = await memory.load(options)
    onLoaded(messages)
    return messages
  }

  async function store(messages: Message[], options?: Parameters<ChatMemory['save']>[1]): Promise<void> {
    const said: SaveOptions = { ...options, caller }
    await memory.save(messages, said)
    onSaved(messages)
  }

  function save(messages: Message[], options?: Parameters<ChatMemory['save']>[1]): Promise<void> {
    asked = messages
    const saving = store(messages, options).finally(() => {
      if (underWay === saving) underWay = undefined
    })
    underWay = saving
    return saving
  }

  function saveChanges(controller: Pick<ChatController, 'getState' | 'subscribe'>): () => void {
    const shown = () => controller.getState().messages
    let ours: readonly Message[] = shown()
    let looking = false

    async function look(): Promise<void> {
      if (looking) return
      looking = true
      // What a controller saves by itself it has asked for by then, unless it waits for an earlier save to end.
      await undefined
      for (let newest = shown(); newest !== asked && newest !== ours; newest = shown()) {
        // Why a save failed is told by the messages themselves and by the status; the next change is saved again.
        if (underWay) await underWay.catch(() => undefined)
        else {
          ours = newest
          await store(newest as Message[]).catch(() => undefined)
        }
      }
      looking = false
    }

    return controller.subscribe(() => void look())
  }

  return { memory: { ...memory, load, save }, saveChanges }
}
