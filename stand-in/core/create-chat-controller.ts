import type { StreamChunk, StreamSource } from '../../src/contract/chat.ts'
import type { Message, ToolCall } from '../../src/contract/chat-message.ts'
import { buildMessage, type MessageFields } from './build-message.ts'
import type { AgentEvent, ChatConfig, ChatController } from './chat-config.ts'
import { createChatStore } from './create-chat-store.ts'
import { createToolProposals } from './create-tool-proposals.ts'
import { decideCall } from './decide-call.ts'
import { generateId } from './generate-id.ts'
import { persistEveryChange } from './persist-every-change.ts'
import { persistFinalized } from './persist-finalized.ts'
import { persistenceRegime } from './persistence-regime.ts'
import { runTool } from './run-tool.ts'

const DEFAULT_TOOL_ROUNDS = 8

/** One piece of work between an action of the host and the answer's end; after `stop` nothing of it arrives. */
interface Run {
  stopped: boolean
  source?: StreamSource
}

/** The chat controller of AgentsKit Core as its contract describes it, in both persistence regimes. */
export function createChatController(initial: ChatConfig): ChatController {
  const regime = initial.regime ?? persistenceRegime()
  const observers = initial.observers ?? []
  let config = initial
  /** Raised by each turn: under `finalized`, only calls of the current one can be decided. */
  let generation = 0
  const madeIn = new Map<string, number>()
  const runs = new Set<Run>()

  const store = createChatStore(initial.initialMessages ?? [], () => persistence.changed())
  const persistence = (regime === 'finalized' ? persistFinalized : persistEveryChange)({
    memory: () => config.memory,
    messages: () => store.get().messages,
    hydrate: store.hydrate,
    empty: () => store.set({ messages: [] }),
    disposeTools: () => Promise.all((config.tools ?? []).map((tool) => tool.dispose?.())),
    abandon: () => abandonRuns(),
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

  function abandonRuns(): void {
    for (const run of runs) {
      run.stopped = true
      run.source?.abort()
    }
    runs.clear()
  }

  /** Work that `stop` can end. The status goes back to idle with the last of it, unless something failed. */
  async function work(perform: (run: Run) => Promise<void>): Promise<void> {
    const run: Run = { stopped: false }
    runs.add(run)
    try {
      await perform(run)
    } finally {
      runs.delete(run)
    }
  }

  function turn(messages: readonly Message[], patch: { readonly input?: string } = {}): Promise<void> {
    generation += 1
    return work((run) => answer(run, messages, patch))
  }

  /** Asks the model over `messages`, runs the tools it calls, and asks again with their results. */
  async function answer(run: Run, messages: readonly Message[], patch: { readonly input?: string } = {}) {
    const rounds = config.maxToolRounds ?? DEFAULT_TOOL_ROUNDS
    let request = messages
    for (let round = 0; round < rounds; round += 1) {
      const assistant = message({ role: 'assistant', content: '', status: 'streaming' })
      store.set({ messages: [...request, assistant], status: 'streaming', error: null, ...(round === 0 ? patch : {}) })
      const calls = await stream(run, assistant.id)
      if (!calls) return
      if (calls.length === 0) return settle(run)
      if (!(await performCalls(run, calls))) return
      request = store.get().messages
    }
    return settle(run)
  }

  async function settle(run: Run): Promise<void> {
    goIdle(run)
    await persistence.settled()
  }

  function goIdle(run: Run): void {
    runs.delete(run)
    if (runs.size === 0 && store.get().status === 'streaming') store.set({ status: 'idle' })
  }

  /** The tool calls of the finished answer; `undefined` when it was stopped or failed. */
  async function stream(run: Run, id: string): Promise<readonly ToolCall[] | undefined> {
    if (run.stopped) return undefined
    const calls: ToolCall[] = []
    // As upstream, with the empty message that is about to be streamed.
    const request = [...store.get().messages]
    emit({ type: 'llm:start', messageCount: request.length })
    try {
      const source = config.adapter.createSource({ messages: request, context: { tools: config.tools } })
      run.source = source
      for await (const chunk of source.stream()) {
        if (run.stopped) return undefined
        if (chunk.type === 'done') break
        if (chunk.type === 'error') throw new Error(chunk.content ?? 'The model failed.')
        takeChunk(id, chunk, calls)
      }
    } catch (cause) {
      if (run.stopped) return undefined
      const error = cause instanceof Error ? cause : new Error(String(cause))
      store.patchMessage(id, (each) => ({ ...each, status: 'error' }))
      fail(error)
      return undefined
    }
    if (run.stopped) return undefined
    if (calls.length === 0) runs.delete(run)
    const idle = calls.length === 0 && runs.size === 0
    let content = ''
    store.set({
      messages: store.get().messages.map((each) => {
        if (each.id !== id) return each
        content = each.content
        return { ...each, status: 'complete' }
      }),
      ...(idle ? { status: 'idle' as const } : {}),
    })
    emit({ type: 'llm:end', content })
    return calls
  }

  function takeChunk(id: string, chunk: StreamChunk, calls: ToolCall[]): void {
    const { type, content = '', toolCall, usage } = chunk
    if (type === 'text') store.patchMessage(id, (each) => ({ ...each, content: each.content + content }))
    if (type === 'reasoning') {
      store.patchMessage(id, ({ metadata, ...each }) => ({
        ...each,
        metadata: { ...metadata, reasoning: `${metadata?.reasoning ?? ''}${content}` },
      }))
    }
    if (type === 'usage' && usage) {
      store.set({ usage })
      store.patchMessage(id, ({ metadata, ...each }) => ({ ...each, metadata: { ...metadata, usage } }))
    }
    if (type === 'tool_call' && toolCall) {
      const call: ToolCall = { id: toolCall.id, name: toolCall.name, args: argsOf(toolCall.args), status: 'pending' }
      calls.push(call)
      store.patchMessage(id, (each) => ({ ...each, toolCalls: [...(each.toolCalls ?? []), call] }))
    }
  }

  /** True when every call has its result and the model can go on. */
  async function performCalls(run: Run, calls: readonly ToolCall[]): Promise<boolean> {
    const waiting: ToolCall[] = []
    for (const call of calls) {
      madeIn.set(call.id, generation)
      const tool = config.tools?.find((each) => each.name === call.name)
      if (tool?.requiresConfirmation) {
        store.patchCall(call.id, { status: 'requires_confirmation' })
        waiting.push(call)
      } else {
        await perform(run, call)
      }
      if (run.stopped) return false
    }
    if (waiting.length === 0) return true
    goIdle(run)
    await keepPending(waiting)
    return false
  }

  async function keepPending(calls: readonly ToolCall[]): Promise<void> {
    const { decisionStore } = config
    if (regime !== 'finalized' || !decisionStore) return
    await persistence.awaiting()
    const messages = [...store.get().messages]
    for (const { id } of calls) await decisionStore.putPending({ toolCallId: id, messages, status: 'pending' })
  }

  async function perform(run: Run, call: ToolCall): Promise<void> {
    store.patchCall(call.id, { status: 'running' })
    emit({ type: 'tool:start', name: call.name, args: call.args })
    const outcome = await runTool(config, call)
    if (run.stopped) return
    store.patchCall(call.id, outcome)
    appendToolMessage(call.id, outcome.result ?? outcome.error ?? '')
    emit({ type: 'tool:end', name: call.name, result: outcome.result ?? outcome.error ?? '' })
  }

  function appendToolMessage(toolCallId: string, content: string): void {
    store.set({ messages: [...store.get().messages, message({ role: 'tool', content, toolCallId })] })
  }

  /** Goes on with the model once no call of the same message waits any more. */
  async function goOn(run: Run, toolCallId: string): Promise<void> {
    const open = store.findCall(toolCallId)?.message.toolCalls?.some((call) => call.status === 'requires_confirmation')
    if (run.stopped || open) return
    await answer(run, store.get().messages)
  }

  /** `settle` is told of the outcome before the model is. */
  const approved = (call: ToolCall, settle?: () => Promise<void>) =>
    work(async (run) => {
      await perform(run, call)
      await settle?.()
      await goOn(run, call.id)
    })

  const denied = (call: ToolCall, reason = 'The action was denied.', settle?: () => Promise<void>) =>
    work(async (run) => {
      store.patchCall(call.id, { status: 'error', error: reason })
      appendToolMessage(call.id, reason)
      await settle?.()
      await goOn(run, call.id)
    })

  /** The call, if it waits here; a miss is silent in both regimes. */
  function decidable(toolCallId: string): ToolCall | undefined {
    const call = store.findCall(toolCallId)?.call
    if (call?.status !== 'requires_confirmation') return undefined
    return regime === 'every-change' || madeIn.get(toolCallId) === generation ? call : undefined
  }

  function decide(toolCallId: string, decision: 'approve' | 'deny', reason?: string): Promise<ToolCall> {
    const { decisionStore } = config
    const ports = { store, decisionStore, approved, denied, persist: persistence.settled }
    return decideCall(ports, { toolCallId, decision, reason })
  }

  const controller: ChatController = {
    getState: store.get,
    subscribe: store.subscribe,

    send: (content) => {
      const fields: MessageFields =
        typeof content === 'string'
          ? { role: 'user', content }
          : { role: 'user', content: textOf(content), parts: content }
      return turn([...store.get().messages, message(fields)], { input: '' })
    },

    stop: () => {
      abandonRuns()
      const { messages, status } = store.get()
      const streams = messages.some((each) => each.status === 'streaming')
      store.set({
        messages: streams
          ? messages.map((each) => (each.status === 'streaming' ? { ...each, status: 'complete' } : each))
          : messages,
        status: status === 'streaming' ? 'idle' : status,
      })
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
      if (options?.regenerate === false) store.set({ messages: kept })
      else await turn(kept)
    },

    regenerate: async (id) => {
      const { messages } = store.get()
      const index = messages.findLastIndex((each) => each.role === 'assistant' && (id === undefined || each.id === id))
      if (index >= 0) await turn(messages.slice(0, index))
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
      const call = decidable(toolCallId)
      if (call) await approved(call)
    },

    deny: async (toolCallId, reason) => {
      if (regime === 'finalized' && config.decisionStore) return void (await decide(toolCallId, 'deny', reason))
      const call = decidable(toolCallId)
      if (call) await denied(call, reason)
    },

    ...(regime === 'finalized' && { decide }),
  }

  void persistence.hydrate()
  return controller
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
