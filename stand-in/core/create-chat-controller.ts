import type { StreamChunk, StreamSource } from '../../src/contract/chat.ts'
import type { Message, ToolCall } from '../../src/contract/chat-message.ts'
import { buildMessage, type MessageFields } from './build-message.ts'
import type { AgentEvent, ChatConfig, ChatController } from './chat-config.ts'
import { createChatStore, type FoundCall } from './create-chat-store.ts'
import { createToolProposals } from './create-tool-proposals.ts'
import { decideCall } from './decide-call.ts'
import { generateId } from './generate-id.ts'
import { persistEveryChange } from './persist-every-change.ts'
import { persistFinalized } from './persist-finalized.ts'
import { persistenceRegime } from './persistence-regime.ts'
import { runTool, type ToolOutcome } from './run-tool.ts'

const DEFAULT_TOOL_ITERATIONS = 5

/** The chat controller of AgentsKit Core as its contract describes it, in both persistence regimes. */
export function createChatController(initial: ChatConfig): ChatController {
  const regime = initial.regime ?? persistenceRegime()
  const observers = initial.observers ?? []
  let config = initial
  /**
   * Raised by each turn, and by what ends one: a controller streams one answer at a time, and whatever an earlier
   * generation still brings is inert. Under `finalized`, only calls of the current one can be decided.
   */
  let generation = 0
  let source: StreamSource | undefined
  const madeIn = new Map<string, number>()

  const store = createChatStore(initial.initialMessages ?? [], () => persistence.changed())
  const persistence = (regime === 'finalized' ? persistFinalized : persistEveryChange)({
    memory: () => config.memory,
    messages: () => store.get().messages,
    hydrate: store.hydrate,
    empty: () => store.set({ messages: [], status: 'idle', error: null }),
    disposeTools: () => Promise.all((config.tools ?? []).map((tool) => tool.dispose?.())),
    abandon,
    emit,
    fail,
  })
  const proposals = createToolProposals({
    config: () => config,
    store,
    regime,
    setMessages: (messages) => store.set({ messages }),
    proposed: async (call) => {
      madeIn.set(call.id, generation)
      await keepPending([call])
    },
  })

  function emit(event: AgentEvent): void {
    for (const observer of observers) {
      // An observer only watches: what it throws stays with it.
      void Promise.resolve()
        .then(() => observer.on(event))
        .catch(() => {})
    }
  }

  function fail(error: Error): void {
    store.set({ status: 'error', error })
    config.onError?.(error)
    emit({ type: 'error', error })
  }

  function message(fields: MessageFields): Message {
    return buildMessage({ ...fields, id: generateId('msg', regime) })
  }

  /** Nothing of what streams arrives any more. */
  function abandon(): void {
    generation += 1
    source?.abort()
    source = undefined
  }

  /** A turn over `messages`: the answer streams into a new message behind them. */
  async function turn(messages: readonly Message[], patch: { readonly input?: string } = {}): Promise<void> {
    generation += 1
    const current = generation
    const assistant = message({ role: 'assistant', content: '', status: 'streaming' })
    store.set({ messages: [...messages, assistant], status: 'streaming', error: null, ...patch })
    if (await stream(assistant.id, current)) await goOn(assistant.id, current)
  }

  /** One answer of the model, with the tools that it calls. False: it failed, or its generation is over. */
  async function stream(id: string, current: number): Promise<boolean> {
    if (current !== generation) return false
    // As upstream, with the empty message that is about to be streamed.
    const request = [...store.get().messages]
    emit({ type: 'llm:start', messageCount: request.length })
    const said = { text: '', reasoning: '' }
    try {
      const mine = config.adapter.createSource({ messages: request, context: { tools: config.tools } })
      source = mine
      for await (const chunk of mine.stream()) {
        if (current !== generation) return false
        if (chunk.type === 'done') break
        if (chunk.type === 'error') throw new Error(chunk.content ?? 'The model failed.')
        if (chunk.type === 'tool_call') await takeCall(id, chunk, current)
        else takeChunk(id, chunk, said)
      }
    } catch (cause) {
      if (current !== generation) return false
      generation += 1
      store.patchMessage(id, (each) => ({ ...each, status: 'error' }))
      fail(cause instanceof Error ? cause : new Error(String(cause)))
      return false
    }
    if (current !== generation) return false
    emit({ type: 'llm:end', content: said.text })
    return true
  }

  /** A text is put whole each time: whatever else happened to the message, the answer is what the model said. */
  function takeChunk(id: string, chunk: StreamChunk, said: { text: string; reasoning: string }): void {
    const { type, content = '', usage } = chunk
    if (type === 'text' && content) {
      said.text += content
      store.patchMessage(id, (each) => ({ ...each, content: said.text }))
    }
    if (type === 'reasoning' && content) {
      said.reasoning += content
      store.patchMessage(id, (each) => ({ ...each, metadata: { ...each.metadata, reasoning: said.reasoning } }))
    }
    if (type === 'usage' && usage) {
      store.set({ usage })
      store.patchMessage(id, (each) => ({ ...each, metadata: { ...each.metadata, usage } }))
    }
  }

  async function takeCall(id: string, { toolCall }: StreamChunk, current: number): Promise<void> {
    if (!toolCall) return
    const tool = config.tools?.find((each) => each.name === toolCall.name)
    const status = tool?.requiresConfirmation ? 'requires_confirmation' : 'pending'
    const call: ToolCall = { id: toolCall.id, name: toolCall.name, args: argsOf(toolCall.args), status }
    madeIn.set(call.id, generation)
    store.patchMessage(id, (each) => ({ ...each, toolCalls: [...(each.toolCalls ?? []), call] }))
    await config.onToolCall?.(call)
    if (current !== generation || tool?.requiresConfirmation) return
    const outcome = await perform(id, call)
    if (current === generation) store.patchCall(id, call.id, outcome)
  }

  async function perform(id: string, call: ToolCall): Promise<ToolOutcome> {
    store.patchCall(id, call.id, { status: 'running' })
    emit({ type: 'tool:start', name: call.name, args: call.args })
    const outcome = await runTool(config, call)
    emit({ type: 'tool:end', name: call.name, result: outcome.result ?? outcome.error ?? '' })
    return outcome
  }

  /** Asks the model again with the results of a message's calls, once none of them is open; else the turn ends. */
  async function goOn(from: string, current: number): Promise<void> {
    let id = from
    for (let left = config.maxToolIterations ?? DEFAULT_TOOL_ITERATIONS; left > 0; left -= 1) {
      const calls = callsOf(id)
      if (calls.length === 0 || calls.some(isOpen)) break
      const results = calls.map((call) =>
        message({ role: 'tool', content: call.result ?? call.error ?? '', toolCallId: call.id }),
      )
      const next = message({ role: 'assistant', content: '', status: 'streaming' })
      const settled = store
        .get()
        .messages.map((each) => (each.id === id ? { ...each, status: 'complete' as const } : each))
      store.set({ messages: [...settled, ...results, next], status: 'streaming', error: null })
      id = next.id
      if (!(await stream(id, current))) return
    }
    const complete = (each: Message): Message => (each.id === id ? { ...each, status: 'complete' } : each)
    store.set({ messages: store.get().messages.map(complete), status: 'idle', error: null })
    const waiting = callsOf(id).filter((call) => call.status === 'requires_confirmation')
    if (waiting.length === 0) await persistence.settled()
    else await keepPending(waiting)
  }

  function callsOf(id: string): readonly ToolCall[] {
    return store.get().messages.find((each) => each.id === id)?.toolCalls ?? []
  }

  async function keepPending(calls: readonly ToolCall[]): Promise<void> {
    const { decisionStore } = config
    if (regime !== 'finalized' || !decisionStore) return
    await persistence.awaiting()
    const messages = [...store.get().messages]
    for (const { id } of calls) await decisionStore.putPending({ toolCallId: id, messages, status: 'pending' })
  }

  /** `settle` is told of the outcome before the model is. What was approved has happened, whatever ended meanwhile. */
  async function approved({ message: { id }, call }: FoundCall, settle?: () => Promise<void>): Promise<void> {
    store.patchCall(id, call.id, await perform(id, call))
    await settle?.()
    await goOn(id, generation)
  }

  async function denied(
    { message: { id }, call }: FoundCall,
    reason = 'The action was denied.',
    settle?: () => Promise<void>,
  ): Promise<void> {
    store.patchCall(id, call.id, { status: 'error', error: reason })
    await settle?.()
    await goOn(id, generation)
  }

  /** The call, if it waits here; a miss is silent in both regimes. */
  function decidable(toolCallId: string): FoundCall | undefined {
    const found = store.findCall(toolCallId)
    if (found?.call.status !== 'requires_confirmation') return undefined
    return regime === 'every-change' || madeIn.get(toolCallId) === generation ? found : undefined
  }

  function decide(toolCallId: string, decision: 'approve' | 'deny', reason?: string): Promise<ToolCall> {
    const { decisionStore } = config
    const ports = { store, decisionStore, approved, denied, persist: persistence.settled }
    return decideCall(ports, { toolCallId, decision, reason })
  }

  const controller: ChatController = {
    getState: store.get,
    subscribe: store.subscribe,

    send: async (content) => {
      const text = typeof content === 'string' ? content : textOf(content)
      if (typeof content === 'string' && !content.trim()) return
      if (store.get().status === 'streaming') controller.stop()
      const fields: MessageFields = {
        role: 'user',
        content: text,
        ...(typeof content !== 'string' && { parts: content }),
      }
      await turn([...store.get().messages, message(fields)], { input: '' })
    },

    stop: () => {
      abandon()
      const settled = (each: Message): Message => (each.status === 'streaming' ? { ...each, status: 'complete' } : each)
      store.set({ messages: store.get().messages.map(settled), status: 'idle' })
    },

    retry: async () => {
      const { messages } = store.get()
      if (messages.at(-1)?.role !== 'assistant' || messages.at(-2)?.role !== 'user') return
      await turn(messages.slice(0, -1))
    },

    edit: async (id, content, options) => {
      const { messages } = store.get()
      const index = messages.findIndex((each) => each.id === id)
      const edited = messages[index]
      if (!edited) return
      if (edited.role !== 'user') return store.patchMessage(id, (each) => ({ ...each, content }))
      const kept = [...messages.slice(0, index), { ...edited, content }]
      if (options?.regenerate === false) return store.set({ messages: kept })
      abandon()
      await turn(kept)
    },

    regenerate: async (id) => {
      const { messages } = store.get()
      const index = id === undefined ? messages.length - 1 : messages.findIndex((each) => each.id === id)
      const before = messages.slice(0, Math.max(index, 0))
      if (messages[index]?.role !== 'assistant' || !before.some((each) => each.role === 'user')) return
      abandon()
      await turn(before)
    },

    setInput: (input) => store.set({ input }),
    setMessages: (messages) => store.set({ messages }),
    clear: persistence.clear,

    updateConfig: (patch) => {
      config = { ...config, ...patch }
      void persistence.hydrate()
    },

    proposeToolCall: proposals.propose,

    approve: async (toolCallId) => {
      if (regime === 'finalized' && config.decisionStore) return void (await decide(toolCallId, 'approve'))
      const found = decidable(toolCallId)
      if (found) await approved(found)
    },

    deny: async (toolCallId, reason) => {
      if (regime === 'finalized' && config.decisionStore) return void (await decide(toolCallId, 'deny', reason))
      const found = decidable(toolCallId)
      if (found) await denied(found, reason)
    },

    ...(regime === 'finalized' && { decide }),
  }

  void persistence.hydrate()
  return controller
}

function isOpen({ status }: ToolCall): boolean {
  return status !== 'complete' && status !== 'error'
}

function argsOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  } catch {
    return {}
  }
}

function textOf(parts: readonly { readonly type: string; readonly [field: string]: unknown }[]): string {
  return parts.map((part) => (part.type === 'text' && typeof part.text === 'string' ? part.text : '')).join('')
}
