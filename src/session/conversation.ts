import { isSafeId } from '../contract/safe-id.ts'
import { type Conversation, type Decision, StateName } from '../contract/session-snapshot.ts'
import { ConfigError } from './config-error.ts'

/** How a turn was answered. Traces carry decisions, never what somebody wrote. */
export interface TurnTrace {
  readonly kind: 'deterministic' | 'agentic' | 'repaired' | 'fallback'
  readonly routeId?: string
  readonly fromState: string
  readonly toState: string
}

export interface ConversationStateDefinition {
  /** Event → the state that it leads to. */
  readonly on?: Readonly<Record<string, string>>
  /** What an application may offer in this state. */
  readonly actions?: readonly string[]
}

/** A turn that is answered without the model. Both callbacks are synchronous. */
export interface DeterministicRoute {
  /** A SafeId, unique in its conversation. */
  readonly id: string
  /** The route is eligible only where the present state declares this event. */
  readonly event: string
  /** The states in which the route is eligible; absent: all. */
  readonly states?: readonly string[]
  readonly match: (input: string) => boolean
  readonly response: (input: string, context: RouteContext) => string
  /** Default `deterministic`. */
  readonly traceKind?: Decision['kind']
}

export interface RouteContext {
  readonly sessionId: string
  readonly messageId?: string
}

/** The deterministic part of a chat: states, the transitions between them, and the routes that take them (ADR-0006). */
export interface ConversationDefinition {
  readonly initial: string
  readonly states: Readonly<Record<string, ConversationStateDefinition>>
  /** The first eligible route wins. */
  readonly routes: readonly DeterministicRoute[]
  /** Best effort: what it throws or rejects with is ignored. */
  readonly onTrace?: (trace: TurnTrace) => void | Promise<void>
}

export interface ConversationSnapshot {
  readonly state: string
  readonly events: readonly string[]
  readonly actions: readonly string[]
}

/** A checked conversation. Names are looked up in maps, so a state called `constructor` is only a name. */
export interface Machine {
  readonly initial: string
  readonly states: ReadonlyMap<
    string,
    { readonly on: ReadonlyMap<string, string>; readonly actions: readonly string[] }
  >
  readonly routes: readonly DeterministicRoute[]
}

/** @throws ConfigError for a machine that could not work, or whose progress could not be stored. */
export function compileConversation(definition: ConversationDefinition): Machine {
  const states = new Map(
    Object.entries(definition.states).map(([name, { on = {}, actions = [] }]) => [
      name,
      { on: new Map(Object.entries(on)), actions },
    ]),
  )
  for (const [name, { on }] of states) {
    if (!StateName.safeParse(name).success) throw invalid(`The state name "${name}" is not 1 to 128 characters long.`)
    for (const [event, target] of on) {
      if (!states.has(target))
        throw invalid(`The event "${event}" of "${name}" leads to the unknown state "${target}".`)
    }
  }
  if (!states.has(definition.initial)) throw invalid(`The initial state "${definition.initial}" is unknown.`)

  const ids = new Set<string>()
  for (const { id, event, states: allowed = [] } of definition.routes) {
    if (!isSafeId(id)) throw invalid(`The route id "${id}" is not 1 to 128 letters, digits or . _ : -`)
    if (ids.has(id)) throw invalid(`Two routes have the id "${id}".`)
    if (event === '') throw invalid(`The route "${id}" has no event.`)
    for (const state of allowed) {
      if (!states.has(state)) throw invalid(`The route "${id}" names the unknown state "${state}".`)
    }
    ids.add(id)
  }
  return { initial: definition.initial, states, routes: definition.routes }
}

/** True if the route may be taken in `state`, its `match` apart. */
export function isEligible(machine: Machine, state: string, route: DeterministicRoute): boolean {
  return targetOf(machine, state, route) !== undefined && (route.states?.includes(state) ?? true)
}

export function targetOf(machine: Machine, state: string, route: DeterministicRoute): string | undefined {
  return machine.states.get(state)?.on.get(route.event)
}

/** True if the machine would take the decision's transition in its `fromState`. */
export function holds(machine: Machine, { routeId, fromState, toState }: Decision): boolean {
  const route = machine.routes.find(({ id }) => id === routeId)
  return route !== undefined && isEligible(machine, fromState, route) && targetOf(machine, fromState, route) === toState
}

/** True if the stored decisions lead from the initial state to exactly the stored state: else nobody may resume it. */
export function canReplay(machine: Machine, { state, decisions }: Conversation): boolean {
  let at = machine.initial
  for (const decision of decisions) {
    if (decision.fromState !== at || !holds(machine, decision)) return false
    at = decision.toState
  }
  return at === state
}

export function describeState(machine: Machine, state: string): ConversationSnapshot {
  const known = machine.states.get(state)
  return { state, events: [...(known?.on.keys() ?? [])], actions: [...(known?.actions ?? [])] }
}

function invalid(message: string): ConfigError {
  return new ConfigError(message, { hint: 'Correct the states, routes and transitions of the conversation.' })
}
