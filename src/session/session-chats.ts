import { type ChatToConfirm, waits } from './run-decision.ts'

/** The chats that show a session in this page, each until its signal or the session ends. */
export interface SessionChats {
  readonly add: (chat: ChatToConfirm, signal?: AbortSignal) => void
  /** The newest in which the call waits; else the newest that does not say what it shows. */
  readonly find: (toolCallId: string) => ChatToConfirm | undefined
}

export function createSessionChats(lifetime: AbortSignal): SessionChats {
  /** One entry each time a chat is added: the same chat may be added twice, with an end of its own each time. */
  const entries = new Set<{ readonly chat: ChatToConfirm }>()
  return {
    add(chat, signal = lifetime) {
      if (lifetime.aborted || signal.aborted) return
      const entry = { chat }
      entries.add(entry)
      for (const each of new Set([signal, lifetime])) {
        each.addEventListener('abort', () => entries.delete(entry), { once: true })
      }
    },
    find(toolCallId) {
      const newestFirst = [...entries].map(({ chat }) => chat).reverse()
      return (
        newestFirst.find((chat) => waits(chat, toolCallId) === true) ??
        newestFirst.find((chat) => waits(chat, toolCallId) === undefined)
      )
    },
  }
}
