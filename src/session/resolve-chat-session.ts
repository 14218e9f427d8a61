import type { ChatConfig } from '../contract/chat.ts'
import type { ChatSession } from './chat-session.ts'
import { ConfigError } from './config-error.ts'
import { createChatSession } from './create-chat-session.ts'
import { type ChatDefinition, identityOf } from './definition.ts'

/**
 * The session that a renderer mounts: the prepared one if it is of this definition and revision, else a new one.
 *
 * @throws ConfigError for a session of another definition or revision.
 */
export function resolveChatSession<C extends ChatConfig>(
  definition: ChatDefinition<C>,
  session?: ChatSession<C>,
): ChatSession<C> {
  if (!session) return createChatSession(definition)
  const { definitionId, definitionRevision } = identityOf(definition)
  if (session.definitionId === definitionId && session.definitionRevision === definitionRevision) return session
  throw new ConfigError(
    `The session is incompatible: it is of "${session.definitionId}", revision ${session.definitionRevision}.`,
    { hint: 'Prepare the session with the definition that is rendered.' },
  )
}
