import type { AdapterFactory, AdapterRequest, ChatConfig, StreamSource } from '../contract/chat.ts'
import type { ChatMemory } from '../contract/chat-memory.ts'
import { decodeSnapshot } from '../contract/decode-snapshot.ts'
import type { LiveSessionStorage } from '../contract/live-session-storage.ts'
import { isSafeId } from '../contract/safe-id.ts'
import { MAX_TERMINAL_TURNS, type Snapshot } from '../contract/session-snapshot.ts'
import { deepEqual } from '../core/same-content.ts'
import { RejoinError } from '../errors.ts'
import type { ActionConfirmation } from './action-confirmation.ts'
import type { ChatSession } from './chat-session.ts'
import { createClaimRunner } from './claim-runner.ts'
import { ConfigError } from './config-error.ts'
import { createCoordinator } from './confirmation-coordinator.ts'
import { type ConversationSnapshot, compileConversation, describeState, type TurnTrace } from './conversation.ts'
import { createDecisionStore } from './decision-store.ts'
import { type ChatDefinition, identityOf } from './definition.ts'
import { answerStream, failedRouteStream } from './deterministic-stream.ts'
import { dispatchTurn } from './dispatch-turn.ts'
import { incompatibility } from './incompatibility.ts'
import { createListeners } from './listeners.ts'
import { newId as randomId } from './new-id.ts'
import { createPermissions } from './permissions.ts'
import { type ChatToConfirm, runDecision } from './run-decision.ts'
import { createSessionChats } from './session-chats.ts'
import { createSessionConfirmations } from './session-confirmations.ts'
import { SessionConflictError } from './session-conflict-error.ts'
import { createSessionLedger, RETRIES } from './session-ledger.ts'
import type { SessionIdentity } from './snapshot-draft.ts'
import { hostSource, wrapChat } from './wrap-chat.ts'

export interface ChatSessionOptions {
  /** A SafeId. Default: the snapshot's, else `<definition id>:<an id that nobody else makes>`. */
  readonly sessionId?: string
  /** Where to go on from; the session counts as stored at its cursor. */
  readonly snapshot?: Snapshot
  /** Absent: the session lives in memory. */
  readonly storage?: LiveSessionStorage
  /** Default: the storage's clock, else this device's. */
  readonly now?: () => Date
  /** Ends the session: nothing is watched or saved afterwards. */
  readonly signal?: AbortSignal
  /** Called after the confirmations changed in storage, by whomever. What it throws is ignored. */
  readonly onConfirmationChange?: (records: readonly ActionConfirmation[]) => void | Promise<void>
  /** Makes the ids of session and confirmations. */
  readonly newId?: () => string
}

/**
 * A session with progress of its own. It does not read the storage first: if the session exists there, the first save
 * is a conflict. Use `resumeChatSession` for what may be stored.
 *
 * @throws ConfigError for a definition, an id or a snapshot that cannot work.
 */
export function createChatSession<C extends ChatConfig>(
  definition: ChatDefinition<C>,
  options: ChatSessionOptions = {},
): ChatSession<C> {
  const { storage, signal, onConfirmationChange, newId = randomId } = options
  const machine = definition.conversation && compileConversation(definition.conversation)
  const snapshot = options.snapshot && checked(options.snapshot)
  const identity = sessionIdentity(definition, options.sessionId ?? snapshot?.sessionId, newId)
  const { sessionId } = identity
  const mismatch = snapshot && incompatibility(identity, machine, snapshot)
  if (mismatch) throw new ConfigError(mismatch, { hint: 'Resume a session with the definition that stored it.' })

  const now = options.now ?? (storage?.now ? () => new Date(storage.now?.() ?? Date.now()) : () => new Date())
  const listeners = createListeners()
  const ledger = createSessionLedger({ identity, machine, snapshot, storage, now, signal })
  const records = createSessionConfirmations({ sessionId, ledger, storage, onChange: listeners.call })
  const permissions = createPermissions()
  const chats = createSessionChats(ledger.lifetime)
  const addRunner =
    storage?.claims && createClaimRunner({ sessionId, claims: storage.claims, lifetime: ledger.lifetime, permissions })

  let known = ledger.stored()?.confirmations
  ledger.subscribe(() => {
    const before = known
    known = ledger.stored()?.confirmations
    if (!deepEqual(known ?? [], before ?? [])) tell(onConfirmationChange, records.get())
    listeners.call()
  })
  for (const stop of [storage?.claims?.subscribe(listeners.call), storage?.claims?.attend?.(sessionId)]) {
    if (stop) ledger.lifetime.addEventListener('abort', stop, { once: true })
  }

  let described: ConversationSnapshot | undefined
  function getConversationSnapshot(): ConversationSnapshot | undefined {
    const progress = ledger.progress()
    if (!machine || !progress) return undefined
    if (described?.state !== progress.state) described = describeState(machine, progress.state)
    return described
  }

  function createSource(adapter: AdapterFactory, request: AdapterRequest): StreamSource {
    const progress = ledger.progress()
    if (!machine || !progress) return hostSource(adapter, request, sessionId)
    const { progress: next, outcome } = dispatchTurn(machine, progress, request.messages, sessionId)
    ledger.advance(next)
    if (outcome.kind === 'failed') return failedRouteStream()
    tell<TurnTrace>(definition.conversation?.onTrace, outcome.trace)
    return outcome.kind === 'answered' ? answerStream(outcome.content) : hostSource(adapter, request, sessionId)
  }

  const decisionStore = createDecisionStore({
    records,
    permissions,
    memory: definition.chat.memory,
    adopt: createCoordinator({ sessionId, records, chat: NO_CHAT, now: () => now().getTime(), createId: newId }).adopt,
    denyExpired: async (toolCallId) => {
      const chat = chats.find(toolCallId)
      if (chat) await runDecision(chat, { toolCallId, want: 'expiring' }, permissions)
    },
    now: () => now().getTime(),
  })

  const updateChat: ChatSession['updateChat'] = (chat) => wrapChat(chat, { createSource, decisionStore })

  async function claimTurn(turnId: string, leaseMs: number, turnSignal?: AbortSignal): Promise<boolean> {
    if (!isSafeId(turnId) || !Number.isSafeInteger(leaseMs) || leaseMs <= 0) {
      throw new ConfigError('The turn claim is invalid.', {
        hint: 'Give a SafeId and a positive number of milliseconds.',
      })
    }
    let claimed = false
    await ledger.change(
      (draft, attempt) => {
        const at = now().getTime()
        claimed =
          !draft.terminalTurns.some((turn) => turn.turnId === turnId) &&
          !(draft.activeTurn && draft.activeTurn.expiresAt > at)
        if (claimed) return { ...draft, activeTurn: { turnId, expiresAt: at + leaseMs } }
        if (attempt > 0) throw new SessionConflictError()
        return undefined
      },
      // Whoever judges the lease may refuse it while nothing shows in the snapshot; asking once more is enough.
      { signal: turnSignal, retries: 1 },
    )
    return claimed
  }

  return {
    ...identity,
    chat: updateChat(definition.chat),
    updateChat,
    getConversationSnapshot,
    createConfirmation({ signal: chatSignal, ...coordinator }) {
      chats.add(coordinator.chat, chatSignal)
      addRunner?.(coordinator.chat, chatSignal)
      return createCoordinator({
        now: () => now().getTime(),
        createId: newId,
        ...coordinator,
        sessionId,
        records,
        permissions,
        storeMessages: messageStoring(definition.chat.memory, coordinator.chat),
      })
    },
    getConfirmations: records.get,
    persist: (persistSignal) => ledger.change((draft) => draft, { signal: persistSignal }),
    getCursor: () => ledger.stored()?.cursor ?? 0,
    claimTurn,
    releaseTurn: (turnId, outcome, turnSignal) =>
      ledger.change(
        ({ activeTurn, terminalTurns, ...draft }) => {
          if (activeTurn?.turnId !== turnId) return undefined
          const others = terminalTurns.filter((turn) => turn.turnId !== turnId)
          return { ...draft, terminalTurns: [...others, { turnId, outcome }].slice(-MAX_TERMINAL_TURNS) }
        },
        { signal: turnSignal, retries: RETRIES },
      ),
    getProblem: ledger.problem,
    subscribe: listeners.add,
    close: () => ledger.end(new RejoinError('closed', 'The session is closed.', { hint: 'Resume it to go on.' })),
  }
}

/** For a call that the controller itself puts before a person: it denies what could not be stored by itself. */
const NO_CHAT: ChatToConfirm = {
  proposeToolCall: () => Promise.reject(new Error('There is no chat to propose in.')),
  approve: () => undefined,
  deny: () => undefined,
}

function sessionIdentity(definition: ChatDefinition, wanted: string | undefined, newId: () => string): SessionIdentity {
  const identity = identityOf(definition)
  const sessionId = wanted ?? defaultSessionId(definition.id, newId())
  if (!isSafeId(sessionId)) {
    throw new ConfigError(`The session id "${sessionId}" is not 1 to 128 letters, digits or . _ : -`)
  }
  return { sessionId, ...identity }
}

/** The definition's id is for people who look at a list of sessions; it gives way where both are too long. */
function defaultSessionId(definitionId: string, id: string): string {
  return `${definitionId.slice(0, 127 - id.length)}:${id}`
}

/** Later versions of the controller do not save a proposal by themselves; for earlier ones this is once more the same. */
function messageStoring(memory: ChatMemory | undefined, chat: ChatToConfirm): (() => Promise<void>) | undefined {
  if (!memory || !chat.getState) return undefined
  return async () => memory.save([...(chat.getState?.().messages ?? [])])
}

function checked(snapshot: Snapshot): Snapshot {
  const decoded = decodeSnapshot(snapshot)
  if (decoded.ok) return decoded.snapshot
  throw new ConfigError(decoded.diagnostic.message, { hint: 'Give the snapshot as it was stored.' })
}

/** Observers are told and otherwise left alone: neither a throw nor a rejection of theirs goes anywhere. */
function tell<T>(observer: ((value: T) => void | Promise<void>) | undefined, value: T): void {
  try {
    Promise.resolve(observer?.(value)).catch(() => undefined)
  } catch {
    // See above.
  }
}
