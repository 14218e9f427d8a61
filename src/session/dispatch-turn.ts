import type { Message } from '../contract/chat-message.ts'
import { type Decision, DecisionSchema } from '../contract/session-snapshot.ts'
import { holds, isEligible, type Machine, type TurnTrace, targetOf } from './conversation.ts'

/** Where a conversation stands on this device. */
export interface Progress {
  readonly state: string
  /** Lead from the initial state to `state`, in the order of their messages. Exactly these are stored. */
  readonly decisions: readonly Decision[]
  /** Known decisions that do not fit the history at the moment; they may again after the next turn. Never stored. */
  readonly aside: readonly Decision[]
}

export type DispatchOutcome =
  | { readonly kind: 'answered'; readonly content: string; readonly trace: TurnTrace }
  /** No route took the turn: it is the model's. */
  | { readonly kind: 'agentic'; readonly trace: TurnTrace }
  /** A callback threw, or what it answered could not be stored. The state stays. */
  | { readonly kind: 'failed' }

export interface Dispatched {
  readonly progress: Progress
  readonly outcome: DispatchOutcome
}

/**
 * Decides one turn over the chat's present messages: forgets decisions whose messages are gone, takes the others again
 * from the initial state, and then answers the last user message by its known decision, by a route, or not at all.
 */
export function dispatchTurn(
  machine: Machine,
  progress: Progress,
  messages: readonly Message[],
  sessionId: string,
): Dispatched {
  const users = messages.filter(({ role }) => role === 'user')
  const ids = new Set(users.map(({ id }) => id))
  const known = (decisions: readonly Decision[]) => decisions.filter(({ messageId }) => ids.has(messageId))
  const decisions = known(progress.decisions)
  const aside = known(progress.aside)
  const chain = replay(machine, users, decisions, aside)

  const last = users.at(-1)
  const taken = chain.at(-1)
  const all = [...decisions, ...aside]
  if (last && taken?.messageId === last.id) {
    return { progress: toProgress(machine, chain, all), outcome: answered(taken) }
  }
  const earlier = all.filter(({ messageId }) => messageId !== last?.id)
  const before = toProgress(machine, chain, earlier)
  if (!last) return { progress: before, outcome: agentic(before.state) }
  try {
    const decision = decide(machine, before.state, last, sessionId)
    if (!decision) return { progress: before, outcome: agentic(before.state) }
    return { progress: toProgress(machine, [...chain, decision], earlier), outcome: answered(decision) }
  } catch {
    return { progress: before, outcome: { kind: 'failed' } }
  }
}

/**
 * What was stored comes first: decisions from aside are taken in only where they fit without displacing a stored one.
 */
function replay(
  machine: Machine,
  users: readonly Message[],
  decisions: readonly Decision[],
  aside: readonly Decision[],
): readonly Decision[] {
  const stored = chainOf(machine, users, decisions)
  if (aside.length === 0) return stored
  const widened = chainOf(machine, users, [...aside, ...decisions])
  return stored.every((decision) => widened.includes(decision)) ? widened : stored
}

/** Of several decisions for one message the later one counts. */
function chainOf(machine: Machine, users: readonly Message[], decisions: readonly Decision[]): Decision[] {
  const byMessage = new Map(decisions.map((decision) => [decision.messageId, decision]))
  const chain: Decision[] = []
  let state = machine.initial
  for (const { id, content } of users) {
    const decision = byMessage.get(id)
    if (decision?.input !== content || decision.fromState !== state || !holds(machine, decision)) continue
    chain.push(decision)
    state = decision.toState
  }
  return chain
}

function decide(
  machine: Machine,
  fromState: string,
  { id, content }: Message,
  sessionId: string,
): Decision | undefined {
  const route = machine.routes.find((each) => isEligible(machine, fromState, each) && each.match(content))
  const toState = route && targetOf(machine, fromState, route)
  if (route === undefined || toState === undefined) return undefined
  return DecisionSchema.parse({
    messageId: id,
    input: content,
    routeId: route.id,
    kind: route.traceKind ?? 'deterministic',
    content: route.response(content, { sessionId, messageId: id }),
    fromState,
    toState,
  })
}

function toProgress(machine: Machine, chain: readonly Decision[], known: readonly Decision[]): Progress {
  const taken = new Set(chain.map(({ messageId }) => messageId))
  return {
    state: chain.at(-1)?.toState ?? machine.initial,
    decisions: chain,
    aside: known.filter(({ messageId }) => !taken.has(messageId)),
  }
}

function answered({ kind, routeId, fromState, toState, content }: Decision): DispatchOutcome {
  return { kind: 'answered', content, trace: { kind, routeId, fromState, toState } }
}

function agentic(state: string): DispatchOutcome {
  return { kind: 'agentic', trace: { kind: 'agentic', fromState: state, toState: state } }
}
