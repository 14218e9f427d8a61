import type { Conversation, Decision } from '../contract/session-snapshot.ts'

/** True if the decisions lead from `initial` to the conversation's state, rule R9: otherwise nothing could resume it. */
export function chains(initial: string, conversation: Conversation): boolean {
  let state = initial
  for (const decision of conversation.decisions) {
    if (decision.fromState !== state) return false
    state = decision.toState
  }
  return state === conversation.state
}

/** The initial state that a stored conversation implies. */
export function initialState(conversation: Conversation): string {
  return conversation.decisions[0]?.fromState ?? conversation.state
}

export interface CutConversation {
  readonly conversation: Conversation
  readonly cut: readonly Decision[]
}

/** Drops the decisions from the first one on whose message is missing, rule R8. */
export function cutConversation(
  conversation: Conversation,
  initial: string,
  hasMessage: (messageId: string) => boolean,
): CutConversation {
  const at = conversation.decisions.findIndex((decision) => !hasMessage(decision.messageId))
  if (at < 0) return { conversation, cut: [] }
  const decisions = conversation.decisions.slice(0, at)
  return {
    conversation: { state: decisions.at(-1)?.toState ?? initial, decisions },
    cut: conversation.decisions.slice(at),
  }
}

/** True if `longer` begins with all of `shorter`. */
export function isPrefix(shorter: readonly Decision[], longer: readonly Decision[]): boolean {
  return shorter.every((decision, index) => {
    const other = longer[index]
    return other !== undefined && isSameDecision(decision, other)
  })
}

/** True if both say how the same message was routed; what was answered to it may have been said in other words. */
export function isSameDecision(a: Decision, b: Decision): boolean {
  return a.messageId === b.messageId && a.input === b.input && a.routeId === b.routeId && a.toState === b.toState
}
