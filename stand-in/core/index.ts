export type {
  AdapterFactory,
  AdapterRequest,
  StreamChunk,
  StreamSource,
  ToolProposal,
} from '../../src/contract/chat.ts'
export type { ChatMemory } from '../../src/contract/chat-memory.ts'
export type {
  ContentPart,
  Message,
  MessageRole,
  MessageStatus,
  ToolCall,
  ToolCallStatus,
} from '../../src/contract/chat-message.ts'
export type { ToolDecisionRecord, ToolDecisionStore } from '../../src/contract/tool-decision-store.ts'
export { buildMessage, type MessageFields } from './build-message.ts'
export type {
  AgentEvent,
  ChatConfig,
  ChatController,
  ChatReturn,
  ChatState,
  Observer,
  ToolAuthorization,
  ToolDefinition,
} from './chat-config.ts'
export { createChatController } from './create-chat-controller.ts'
export { createInMemoryMemory } from './create-in-memory-memory.ts'
export { AgentsKitError, ConfigError, type ErrorCode, ErrorCodes, MemoryError, ToolError } from './errors.ts'
export { generateId } from './generate-id.ts'
export { type PersistenceRegime, persistenceRegime, setPersistenceRegime } from './persistence-regime.ts'
export {
  deserializeMessages,
  type MemoryRecord,
  type SerializedMessage,
  serializeMessages,
} from './serialize-messages.ts'
