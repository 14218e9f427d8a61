import type { Message, ToolCall } from '../../src/contract/chat-message.ts'
import type { ChatState } from './chat-config.ts'

/** The controller's state. Every `set` is one change: memory hears of it first, then the listeners. */
export interface ChatStore {
  readonly get: () => ChatState
  readonly set: (patch: Partial<ChatState>) => void
  /** A change that memory does not hear of, because it came from there. */
  readonly hydrate: (messages: readonly Message[]) => void
  readonly subscribe: (listener: () => void) => () => void
  readonly findCall: (toolCallId: string) => { readonly message: Message; readonly call: ToolCall } | undefined
  readonly patchMessage: (id: string, patch: (message: Message) => Message) => void
  readonly patchCall: (toolCallId: string, patch: Partial<ToolCall>) => void
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
      for (const message of state.messages) {
        const call = message.toolCalls?.find((each) => each.id === toolCallId)
        if (call) return { message, call }
      }
      return undefined
    },
    patchMessage: (id, patch) => {
      store.set({ messages: state.messages.map((message) => (message.id === id ? patch(message) : message)) })
    },
    patchCall: (toolCallId, patch) => {
      const found = store.findCall(toolCallId)
      if (!found) return
      store.patchMessage(found.message.id, (message) => ({
        ...message,
        toolCalls: (message.toolCalls ?? []).map((call) => (call.id === toolCallId ? { ...call, ...patch } : call)),
      }))
    },
  }
  return store
}
