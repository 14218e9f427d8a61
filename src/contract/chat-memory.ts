import type { Message } from './chat-message.ts'

type MaybePromise<T> = T | Promise<T>

export interface MemoryOperationOptions {
  readonly signal?: AbortSignal
}

/** The message store of a chat. `save` is replace-all for its caller; `load` gives the whole history. */
export interface ChatMemory {
  load(options?: MemoryOperationOptions): MaybePromise<Message[]>
  save(messages: Message[], options?: MemoryOperationOptions): MaybePromise<void>
  clear?(options?: MemoryOperationOptions): MaybePromise<void>
}
