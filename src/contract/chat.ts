import type { ChatMemory } from './chat-memory.ts'
import type { ContentPart, Message, ToolCall } from './chat-message.ts'
import type { ToolDecisionStore } from './tool-decision-store.ts'

/** A piece of a model's answer; `done` ends it, `error` ends it without an answer. */
export interface StreamChunk {
  readonly type: 'text' | 'tool_call' | 'tool_result' | 'reasoning' | 'usage' | 'error' | 'done'
  readonly content?: string
  readonly toolCall?: { readonly id: string; readonly name: string; readonly args: string; readonly result?: string }
  readonly usage?: { readonly promptTokens: number; readonly completionTokens: number; readonly totalTokens: number }
  readonly metadata?: Record<string, unknown>
}

export interface StreamSource {
  stream(): AsyncIterableIterator<StreamChunk>
  abort(): void
}

export interface AdapterContext {
  readonly systemPrompt?: string
  readonly temperature?: number
  readonly maxTokens?: number
  readonly tools?: unknown
  readonly metadata?: Record<string, unknown>
}

export interface AdapterRequest {
  readonly messages: Message[]
  readonly context?: AdapterContext
}

export interface AdapterFactory {
  createSource(request: AdapterRequest): StreamSource
  /** Preferred over `createSource` where it exists. */
  createSourceForSession?(request: AdapterRequest, sessionId: string): StreamSource
}

/** The part of an AgentsKit chat configuration that Rejoin reads. Whatever else a host puts there is handed on. */
export interface ChatConfig {
  readonly adapter: AdapterFactory
  readonly memory?: ChatMemory
  readonly decisionStore?: ToolDecisionStore
}

export interface ToolProposal {
  readonly id: string
  readonly name: string
  readonly args: Record<string, unknown>
}

/** What a confirmation needs of a chat: the three calls of AgentsKit's controller that it stands on. */
export interface ConfirmableChat {
  proposeToolCall(proposal: ToolProposal): Promise<ToolCall>
  approve(toolCallId: string): Promise<void> | void
  deny(toolCallId: string, reason?: string): Promise<void> | void
}

export interface ChatState {
  readonly messages: readonly Message[]
  readonly status: 'idle' | 'streaming' | 'complete' | 'error'
  readonly input: string
  readonly error: Error | null
}

/** AgentsKit's chat controller, as far as Rejoin calls it. */
export interface ChatController extends ConfirmableChat {
  getState(): ChatState
  subscribe(listener: () => void): () => void
  send(content: string | ContentPart[]): Promise<void>
  stop(): void
  retry(): Promise<void>
  edit(messageId: string, content: string, options?: { regenerate?: boolean }): Promise<void>
  regenerate(messageId?: string): Promise<void>
  setInput(input: string): void
  setMessages(messages: Message[]): void
  clear(): Promise<void>
  updateConfig(config: Partial<ChatConfig>): void
  /** From core 1.15: decides a call of any turn, by the configuration's `decisionStore`. */
  decide?(toolCallId: string, decision: 'approve' | 'deny', reason?: string): Promise<ToolCall>
}
