export { browserEnvironment } from './browser-environment.ts'
export { type ConnectChatOptions, type ConnectedChat, connectChat } from './chat/connect-chat.ts'
export type { Json, JsonObject } from './contract/bounded-json.ts'
export type {
  AdapterFactory,
  AdapterRequest,
  ChatConfig,
  ChatController,
  ChatState,
  ConfirmableChat,
  StreamChunk,
  StreamSource,
  ToolProposal,
} from './contract/chat.ts'
export type { ChatMemory, MemoryOperationOptions } from './contract/chat-memory.ts'
export type {
  ContentPart,
  Message,
  MessageRole,
  MessageStatus,
  ToolCall,
  ToolCallStatus,
} from './contract/chat-message.ts'
export {
  type DecodedSnapshot,
  decodeSnapshot as decodeSessionSnapshot,
  type SnapshotDiagnostic,
} from './contract/decode-snapshot.ts'
export type {
  ClaimHandler,
  ClaimToRun,
  LiveClaims,
  LiveSessionStorage,
  QueuedClaim,
} from './contract/live-session-storage.ts'
export {
  type Confirmation as SessionConfirmation,
  ConfirmationSchema as SessionConfirmationSchema,
  type ConfirmationStatus,
  type Conversation,
  type Decision,
  SESSION_PROTOCOL,
  SESSION_PROTOCOL_VERSION,
  type Snapshot as SessionSnapshot,
  SnapshotSchema as SessionSnapshotSchema,
} from './contract/session-snapshot.ts'
export type { SessionStorage } from './contract/session-storage.ts'
export type { ClaimState } from './core/device-session.ts'
export type { Channel, Environment, Lifecycle, Locks, Platform, Timers } from './core/environment.ts'
export type { Observable } from './core/observable-value.ts'
export { ERROR_CODES, isRejoinError, RejoinError, type RejoinErrorCode } from './errors.ts'
export type { SessionMessages } from './messages/session-messages.ts'
export { type OpenRejoinOptions, openRejoin, type Rejoin } from './open-rejoin.ts'
export type { Problem } from './protocol/problem.ts'
export type { ActionConfirmation } from './session/action-confirmation.ts'
export type { ChatSession, SessionConfirmationOptions } from './session/chat-session.ts'
export { type CommandRouteOptions, commandRoute } from './session/command-route.ts'
export { ConfigError } from './session/config-error.ts'
export type {
  ActionConfirmationCoordinator,
  ActionToPropose,
  CoordinatorOptions,
} from './session/confirmation-coordinator.ts'
export type {
  ConversationDefinition,
  ConversationSnapshot,
  DeterministicRoute,
  TurnTrace,
} from './session/conversation.ts'
export { type ActionConfirmationOptions, createActionConfirmation } from './session/create-action-confirmation.ts'
export { type ChatSessionOptions, createChatSession } from './session/create-chat-session.ts'
export { type ChatDefinition, defineChat } from './session/definition.ts'
export { resolveChatSession } from './session/resolve-chat-session.ts'
export { type ResumeChatSessionOptions, resumeChatSession } from './session/resume-chat-session.ts'
export { SessionConflictError } from './session/session-conflict-error.ts'
export type { AccessToken } from './sync/access-token.ts'
export type { AttentionActions } from './sync/attention.ts'
export type { AttentionItem } from './sync/attention-items.ts'
export type { ClaimInfo } from './sync/claim-infos.ts'
export type { SessionSummary } from './sync/session-summaries.ts'
export type { RejoinStatus, SyncState } from './sync/status.ts'
