import type { ChatMemory, Message } from '@agentskit/core'

export interface RecordingMemory extends ChatMemory {
  /** Every call in order: `load`, `save 3`, `clear`. */
  readonly log: string[]
  readonly saves: Message[][]
}

/** A memory that writes down what it is asked; `load` and `save` may be replaced to hang or to fail. */
export function createRecordingMemory(over: Partial<ChatMemory> = {}): RecordingMemory {
  const log: string[] = []
  const saves: Message[][] = []
  return {
    log,
    saves,
    load: (options) => {
      log.push('load')
      return over.load?.(options) ?? []
    },
    save: (messages, options) => {
      log.push(`save ${messages.length}`)
      saves.push(messages)
      return over.save?.(messages, options)
    },
    clear: (options) => {
      log.push('clear')
      return over.clear?.(options)
    },
  }
}

/** A promise that the test settles. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}
