import type { Message } from '../contract/chat-message.ts'
import { unchangedEnds } from '../core/message-changes.ts'

/** What a chat made and did by itself, told apart from what it was handed: the rest is others' or stored. */
export interface OwnMessages {
  /** These objects are stored as they are. Whose id this chat did not make, somebody else did. */
  readonly handedOut: (messages: readonly Message[]) => void
  /** These objects come from the store, if the chat shows them: a load may be for somebody else. */
  readonly loaded: (messages: readonly Message[]) => void
  /** A save of this list succeeded. */
  readonly saved: (messages: readonly Message[]) => void
  /** Takes notice of the list that the chat shows now. Returns the messages that changed and that were made here. */
  readonly look: (messages: readonly Message[]) => readonly Message[]
  /** The list that the chat is about to be given: what it lacks, the chat did not drop. */
  readonly give: (messages: readonly Message[]) => void
  /** What the chat knows of the stored messages once it shows `messages`, where it knew `before`. */
  readonly knows: (messages: readonly Message[], before: readonly Message[]) => readonly Message[]
  readonly isMadeHere: (message: Message) => boolean
  /** This very object is not known to be stored: the chat made or changed it, and no save of it has resolved. */
  readonly isUnsaved: (message: Message) => boolean
  /** The chat dropped the message, and no save that says so has resolved. */
  readonly isDropped: (id: string) => boolean
  /** The chat streams into it: a controller streams one answer at a time, into the last that it began. */
  readonly streamsHere: (message: Message) => boolean
  /**
   * Its stream is over, and nobody said so: a controller that begins another turn leaves the answer before as it is,
   * where that stands in front of what it drops. True once for each object.
   */
  readonly isAbandoned: (message: Message) => boolean
  /** The message as it is when its stream is over. */
  readonly end: (message: Message) => Message
}

export function createOwnMessages(): OwnMessages {
  const stored = new WeakSet<Message>()
  const fromStore = new WeakSet<Message>()
  const fed = new Set<string>()
  const made = new Set<string>()
  const dropped = new Set<string>()
  /** What somebody else made to stream again is left to them. */
  const ended = new WeakSet<Message>()
  let streamed: string | undefined
  let shown: readonly Message[] = []
  let savedLast: readonly Message[] = []

  function handedOut(messages: readonly Message[]): void {
    for (const message of messages) {
      stored.add(message)
      if (!made.has(message.id)) fed.add(message.id)
    }
  }

  return {
    handedOut,
    loaded: (messages) => {
      for (const message of messages) fromStore.add(message)
    },
    saved: (messages) => {
      const { start, end } = unchangedEnds(savedLast, messages)
      for (const message of messages.slice(start, messages.length - end)) stored.add(message)
      savedLast = messages
      // An empty list removes nothing from the store.
      if (dropped.size === 0 || messages.length === 0) return
      const kept = new Set(messages.map(({ id }) => id))
      for (const id of dropped) if (!kept.has(id)) dropped.delete(id)
    },
    look: (messages) => {
      const { start, end } = unchangedEnds(shown, messages)
      const before = shown.slice(start, shown.length - end)
      const after = messages.slice(start, messages.length - end)
      shown = messages
      const ids = new Set(after.map(({ id }) => id))
      for (const { id } of before) if (!ids.has(id)) dropped.add(id)
      return after.filter((message) => {
        const { id, status } = message
        dropped.delete(id)
        if (fromStore.has(message)) handedOut([message])
        if (fed.has(id)) return false
        if (!made.has(id) && status === 'streaming') streamed = id
        made.add(id)
        return true
      })
    },
    give: (messages) => {
      shown = messages
    },
    knows: (messages, before) => {
      const byId = new Map(before.map((message) => [message.id, message]))
      // What is changed here stands on what was known before, and what was dropped here is still to be removed.
      const kept = messages.flatMap((message) => (stored.has(message) ? message : (byId.get(message.id) ?? [])))
      return [...kept, ...before.filter(({ id }) => dropped.has(id))]
    },
    isMadeHere: ({ id }) => !fed.has(id),
    isUnsaved: (message) => !stored.has(message),
    isDropped: (id) => dropped.has(id),
    streamsHere: ({ id, status }) => status === 'streaming' && id === streamed,
    isAbandoned: (message) => {
      const { id, status } = message
      return status === 'streaming' && made.has(id) && id !== streamed && !ended.has(message)
    },
    end: (message) => {
      ended.add(message)
      return { ...message, status: 'complete' }
    },
  }
}
