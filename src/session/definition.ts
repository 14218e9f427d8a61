import type { ChatConfig } from '../contract/chat.ts'
import { isSafeId } from '../contract/safe-id.ts'
import { ConfigError } from './config-error.ts'
import type { ConversationDefinition } from './conversation.ts'

/** One kind of chat. Sessions are made of it; it holds no progress of its own. */
export interface ChatDefinition<C extends ChatConfig = ChatConfig> {
  /** A SafeId; stored with each session. */
  readonly id: string
  /** Raised when a change of the conversation makes stored sessions meaningless. Default 1. */
  readonly revision?: number
  readonly chat: C
  readonly conversation?: ConversationDefinition
  /** For the renderer; the session layer does not read it. */
  readonly components?: unknown
}

export interface DefinitionIdentity {
  readonly definitionId: string
  readonly definitionRevision: number
}

/** Gives a definition back as it is, with the host's own type of configuration. */
export function defineChat<C extends ChatConfig>(definition: ChatDefinition<C>): ChatDefinition<C> {
  return definition
}

/** @throws ConfigError for an id or a revision under which nothing could be stored. */
export function identityOf({ id, revision = 1 }: ChatDefinition): DefinitionIdentity {
  if (!isSafeId(id)) {
    throw new ConfigError(`The definition id "${id}" is not 1 to 128 letters, digits or . _ : -`, {
      hint: 'Sessions are stored under the id: give the definition a plain one.',
    })
  }
  if (!Number.isSafeInteger(revision) || revision <= 0) {
    throw new ConfigError(`The revision ${revision} is not a positive integer.`, { hint: 'Count revisions from 1.' })
  }
  return { definitionId: id, definitionRevision: revision }
}
