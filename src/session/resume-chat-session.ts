import type { ChatConfig } from '../contract/chat.ts'
import { decodeSnapshot } from '../contract/decode-snapshot.ts'
import type { LiveSessionStorage } from '../contract/live-session-storage.ts'
import type { ChatSession } from './chat-session.ts'
import { ConfigError } from './config-error.ts'
import { type ChatSessionOptions, createChatSession } from './create-chat-session.ts'
import type { ChatDefinition } from './definition.ts'

export interface ResumeChatSessionOptions extends Omit<ChatSessionOptions, 'snapshot'> {
  readonly sessionId: string
  readonly storage: LiveSessionStorage
}

/**
 * Goes on with a stored session, or starts it clean where the storage has none.
 *
 * @throws ConfigError, before there is a session, for what is corrupt, of an unsupported version, of another session,
 * definition or revision, or of decisions that do not lead to their state ("incompatible"). The storage's own errors
 * pass unchanged.
 */
export async function resumeChatSession<C extends ChatConfig>(
  definition: ChatDefinition<C>,
  options: ResumeChatSessionOptions,
): Promise<ChatSession<C>> {
  const { sessionId, storage, signal } = options
  const stored = await storage.load(sessionId, signal)
  signal?.throwIfAborted()
  if (stored === undefined || stored === null) return createChatSession(definition, options)
  const decoded = decodeSnapshot(stored)
  if (!decoded.ok) {
    throw new ConfigError(decoded.diagnostic.message, {
      hint: 'The stored session cannot be read: delete it, or restore it from a copy.',
    })
  }
  return createChatSession(definition, { ...options, snapshot: decoded.snapshot })
}
