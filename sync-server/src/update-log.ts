import * as Y from 'yjs'
import type { Incarnation } from '../../src/protocol/identity.ts'
import { type Caller, contextOf, type ServerIdentity } from './caller.ts'
import { type AppendAnswer, type Appended, appendUpdates } from './rules/append-updates.ts'
import { isRefusal, type Reply } from './rules/reply.ts'
import type { Decided, RuleContext } from './rules/session-state.ts'
import type { SessionChanges } from './session-changes.ts'
import type { StoredState } from './store.ts'
import { createLogKnowledge, inspectUpdates, type LogKnowledge, learnUpdate } from './update-guard.ts'

export interface AppendCall {
  /** Absent: whatever lives under the id, or a new session. */
  readonly incarnation?: Incarnation | undefined
  readonly updates: readonly Uint8Array[]
  /** The socket that they came from, if one. */
  readonly from?: object
}

export interface AppendOutcome {
  readonly reply: Reply<AppendAnswer>
  /** After a gap: what the log has. */
  readonly stateVector?: Uint8Array
}

/** The one way into the logs of messages: looked at, committed, then told to the rooms. */
export interface UpdateLog {
  readonly append: (caller: Caller, sessionId: string, call: AppendCall) => Promise<AppendOutcome>
}

export interface UpdateLogOptions {
  readonly server: ServerIdentity
  readonly changes: SessionChanges
  readonly newIncarnation: () => Incarnation
  readonly maxSessionBytes: number
}

/** What the log of one session contains up to `head`. */
interface KnownLog {
  readonly incarnation: Incarnation
  readonly head: number
  readonly knowledge: LogKnowledge
}

interface Decision extends Appended {
  readonly incarnation: Incarnation
  readonly stateVector?: Uint8Array | undefined
}

const MAX_KNOWN_LOGS = 1000

export function createUpdateLog({ server, changes, newIncarnation, maxSessionBytes }: UpdateLogOptions): UpdateLog {
  const known = createRecentlyUsed<KnownLog>(MAX_KNOWN_LOGS)

  async function append(caller: Caller, sessionId: string, call: AppendCall): Promise<AppendOutcome> {
    const { account, device } = caller
    const key = `${account}\0${sessionId}`
    const logAfter = known.get(key)?.head ?? 0
    let decision: Decision | undefined
    try {
      // Awaited as it is: one step more, and a later commit of the same batch would be told before this one.
      decision = await server.store.decide<Decision | undefined>({ account, sessionId, device, logAfter }, (state) => {
        const log = catchUp(known.get(key), state, logAfter)
        return log ? decide(key, log, state, call, contextOf(server, caller, sessionId)) : { result: undefined }
      })
    } catch (error) {
      known.delete(key)
      throw error
    }
    if (!decision) {
      // What is known does not lead up to where the log stands: once more, with all of it.
      known.delete(key)
      return append(caller, sessionId, call)
    }
    const { reply, updates, etag, stateVector, incarnation } = decision
    if (updates.length > 0 && !isRefusal(reply.body)) {
      const { head } = reply.body
      changes.publish({ account, sessionId, incarnation, head, etag, updates, from: call.from, deleted: false })
    }
    return { reply, ...(stateVector && { stateVector }) }
  }

  function decide(
    key: string,
    { knowledge }: KnownLog,
    state: StoredState,
    call: AppendCall,
    context: RuleContext,
  ): Decided<Decision> {
    let learn = () => {}
    let stateVector: Uint8Array | undefined
    const { change, result } = appendUpdates(
      state,
      { incarnation: call.incarnation, newIncarnation: newIncarnation(), updates: call.updates, maxSessionBytes },
      (updates) => {
        const inspection = inspectUpdates(knowledge, updates)
        if (inspection.kind === 'accepted') learn = inspection.learn
        if (inspection.kind === 'gap') stateVector = Y.encodeStateVector(knowledge.clocks)
        return inspection
      },
      context,
    )
    const session = change?.session ?? state.session
    // Ahead of the commit: one that fails leaves this ahead of the store, and the next decision notices.
    if (change) learn()
    if (session) known.set(key, { incarnation: session.incarnation, head: session.head, knowledge })
    return { ...(change && { change }), result: { ...result, incarnation: session?.incarnation ?? '', stateVector } }
  }

  return { append }
}

/** What is known of the log, brought to where the log stands; `undefined` when that cannot be done from `state.log`. */
function catchUp(log: KnownLog | undefined, state: StoredState, logAfter: number): KnownLog | undefined {
  const { session } = state
  if (!session) return { incarnation: '', head: 0, knowledge: createLogKnowledge() }
  const usable = log?.incarnation === session.incarnation && log.head <= session.head && log.head >= logAfter
  if (!usable && logAfter > 0) return undefined
  const { incarnation, head } = session
  const from = usable ? log : { head: 0, knowledge: createLogKnowledge() }
  for (const { seq, bytes } of state.log) if (seq > from.head) learnUpdate(from.knowledge, bytes)
  return { incarnation, head, knowledge: from.knowledge }
}

interface RecentlyUsed<T> {
  readonly get: (key: string) => T | undefined
  readonly set: (key: string, value: T) => void
  readonly delete: (key: string) => void
}

/** Keeps the `max` entries that were used last. */
function createRecentlyUsed<T>(max: number): RecentlyUsed<T> {
  const entries = new Map<string, T>()
  const set = (key: string, value: T) => {
    entries.delete(key)
    entries.set(key, value)
    const [oldest] = entries.keys()
    if (entries.size > max && oldest !== undefined) entries.delete(oldest)
  }
  return {
    get: (key) => {
      const value = entries.get(key)
      if (value !== undefined) set(key, value)
      return value
    },
    set,
    delete: (key) => {
      entries.delete(key)
    },
  }
}
