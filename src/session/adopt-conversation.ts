import type { Conversation } from '../contract/session-snapshot.ts'
import { isPrefix } from '../core/conversation-chain.ts'
import { deepEqual } from '../core/same-content.ts'
import type { Progress } from './dispatch-turn.ts'

export interface AdoptConversationInput {
  readonly initial: string
  readonly ours: Progress
  /** What was stored when this session last looked. */
  readonly base: Conversation | undefined
  readonly stored: Conversation | undefined
}

/**
 * Takes over a conversation that somebody else stored. One side changed: that side's. One a prefix of the other: the
 * longer. Both changed: the stored one, and ours is kept aside for the next turn to take in where it still fits.
 */
export function adoptConversation({ initial, ours, base, stored }: AdoptConversationInput): Progress {
  const theirs = stored?.decisions ?? []
  const before = base?.decisions ?? []
  if (deepEqual(theirs, ours.decisions)) return ours
  const weChanged = !deepEqual(ours.decisions, before)
  if (weChanged && (deepEqual(theirs, before) || isPrefix(theirs, ours.decisions))) return ours
  const kept = new Set(theirs.map(({ messageId }) => messageId))
  const displaced = weChanged ? ours.decisions : []
  return {
    state: stored?.state ?? initial,
    decisions: theirs,
    aside: [...ours.aside, ...displaced].filter(({ messageId }) => !kept.has(messageId)),
  }
}
