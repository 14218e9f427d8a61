import type { Message, ToolCall } from '../../src/contract/chat-message.ts'
import type { ChatState } from './chat-config.ts'

export interface FoundCall {
  readonly message: Message
  readonly call: ToolCall
}

/** The controller's state. Every `set` is one change: memory hears of it first, then the listeners. */
export interface ChatStore {
  readonly get: () => ChatState
  readonly set: (patch: Partial<ChatState>) => void
  /** A change that memory does not hear of, because it came from there. */
  readonly hydrate: (messages: readonly Message[]) => void
  readonly subscribe: (listener: () => void) => () => void
  /** The call that waits for a person; if none of this id does, the first that has it. */
  readonly findCall: (toolCallId: string) => FoundCall | undefined
  readonly patchMessage: (id: string, patch: (message: Message) => Message) => void
  readonly patchCall: (messageId: string, toolCallId: string, patch: Partial<ToolCall>) => void
}

export function createChatStore(initialMessages: readonly Message[], changed: () => void): ChatStore {
  let state: ChatState = { messages: initialMessages, status: 'idle', input: '', error: null, usage: {} }
  const listeners = new Set<() => void>()
  const notify = () => {
    for (const listener of [...listeners]) listener()
  }

  const store: ChatStore = {
    get: () => state,
    set: (patch) => {
      state = { ...state, ...patch }
      changed()
      notify()
    },
    hydrate: (messages) => {
      state = { ...state, messages }
      notify()
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    findCall: (toolCallId) => {
      const found = state.messages.flatMap((message) => {
        const calls = message.toolCalls?.filter((each) => each.id === toolCallId) ?? []
        return calls.map((call) => ({ message, call }))
      })
      return found.find(({ call }) => call.status === 'requires_confirmation') ?? found[0]
    },
    patchMessage: (id, patch) => {
      store.set({ messages: state.messages.map((message) => (message.id === id ? patch(message) : message)) })
    },
    patchCall: (messageId, toolCallId, patch) => {
      store.patchMessage(messageId, (message) => ({
        ...message,
        toolCalls: (message.toolCalls ?? []).map((call) => (call.id === toolCallId ? { ...call, ...patch } : call)),
      }))
    },
  }
  return store
}
