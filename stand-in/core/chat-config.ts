import type {
  ChatConfig as ContractChatConfig,
  ChatController as ContractChatController,
  ChatState as ContractChatState,
} from '../../src/contract/chat.ts'
import type { Message, ToolCall } from '../../src/contract/chat-message.ts'
import type { ToolDecisionStore } from '../../src/contract/tool-decision-store.ts'
import type { PersistenceRegime } from './persistence-regime.ts'

type MaybePromise<T> = T | Promise<T>

export interface ToolDefinition {
  readonly name: string
  readonly description?: string
  readonly schema?: unknown
  readonly requiresConfirmation?: boolean
  readonly execute?: (args: Record<string, unknown>, context: unknown) => unknown
  /** Runs when the conversation is cleared. */
  readonly dispose?: () => MaybePromise<void>
}

export type AgentEvent =
  | { readonly type: 'memory:load' | 'memory:save'; readonly messageCount: number }
  | { readonly type: 'llm:start'; readonly messageCount: number }
  | { readonly type: 'llm:end'; readonly content: string }
  | { readonly type: 'tool:start'; readonly name: string; readonly args: Record<string, unknown> }
  | { readonly type: 'tool:end'; readonly name: string; readonly result: string }
  | { readonly type: 'error'; readonly error: Error }

export interface Observer {
  readonly name?: string
  readonly on: (event: AgentEvent) => MaybePromise<void>
}

/** Where a tool call is judged: when it is proposed, and again when it is about to run. */
export interface ToolAuthorization {
  readonly phase: 'propose' | 'execute'
  readonly call: ToolCall
}

export interface ChatConfig extends ContractChatConfig {
  readonly systemPrompt?: string
  readonly tools?: ToolDefinition[]
  readonly initialMessages?: readonly Message[]
  /** Bound when the controller is made; a later configuration does not change them. */
  readonly observers?: readonly Observer[]
  readonly onError?: (error: Error) => void
  /** A rejection turns a proposed call into `error` and rejects the proposal. */
  readonly onToolCall?: (call: ToolCall) => MaybePromise<void>
  /** False or a throw refuses the arguments. */
  readonly validateToolArgs?: (tool: ToolDefinition, args: Record<string, unknown>) => MaybePromise<boolean>
  readonly authorizeToolCall?: (request: ToolAuthorization) => MaybePromise<boolean>
  /** How often a turn may go back to the model with tool results; 5 if absent. */
  readonly maxToolIterations?: number
  /** Only under `finalized`: where pending calls are kept, so that a later controller can decide them. */
  readonly decisionStore?: ToolDecisionStore
  readonly regime?: PersistenceRegime
}

export interface ChatState extends ContractChatState {
  readonly usage: Readonly<Record<string, number>>
}

export interface ChatController extends ContractChatController {
  getState(): ChatState
  updateConfig(config: Partial<ChatConfig>): void
  /**
   * Only under `finalized`: decides a call of the `decisionStore`, whoever proposed it. Rejects with `AK_ACTION_NOT_FOUND` or
   * `AK_ACTION_ALREADY_DECIDED`.
   */
  decide?(toolCallId: string, decision: 'approve' | 'deny', reason?: string): Promise<ToolCall>
}

/** What the framework bindings hand out: the state and the actions, without a way to feed or follow the controller. */
export type ChatReturn = ChatState &
  Omit<ChatController, 'getState' | 'subscribe' | 'setMessages' | 'updateConfig' | 'decide'>
