import * as Y from 'yjs'
import type { ChatMemory } from '../contract/chat-memory.ts'
import type { Environment } from '../core/environment.ts'
import { RejoinError } from '../errors.ts'
import type { Database } from '../storage/database.ts'
import { closeInterrupted } from './close-interrupted.ts'
import { createCompactor } from './compactor.ts'
import type { Homes } from './lineage.ts'
import { createMemory } from './memory.ts'
import { createMessageSession, type MessageContext, type MessageSession } from './message-session.ts'
import type { OpenDocument } from './open-document.ts'
import type { SessionMessages } from './session-messages.ts'

export interface MessageStoreOptions {
  readonly database: Database
  readonly environment: Pick<Environment, 'timers' | 'locks' | 'newId' | 'now'>
  /** What this account calls its locks. */
  readonly names: { readonly lock: (purpose: string) => string }
  /** Ends everything: the same as `close()`, which also waits for what is being written. */
  readonly signal: AbortSignal
  /** Brings a session that is not on this device, rule I4. Rejects with `not-loaded` when it exists and did not come. */
  readonly firstLoad?: (sessionId: string) => Promise<void>
  /** Hears of what no caller waits for: failed writes, and rows and messages that cannot be read. */
  readonly onProblem?: (problem: Error) => void
}

/** The messages of an account's sessions in this tab. */
export interface MessageStore {
  /** The same object for each session, also while its document is not open. */
  readonly messages: (sessionId: string) => SessionMessages
  readonly memory: (sessionId: string) => ChatMemory
  readonly document: (sessionId: string) => Promise<OpenDocument>
  /** This tab has asked for the session's memory, or the device has messages of it: a call can be looked for. */
  readonly isUsed: (sessionId: string) => Promise<boolean>
  /** Closes this device's streams whose tab died; done by each load too. Returns how many. */
  readonly closeInterrupted: (sessionId: string) => Promise<number>
  /** What sync needs of the documents. */
  readonly documents: {
    readonly open: (sessionId: string) => Promise<OpenDocument>
    /** Applies updates that came from the server; resolves when they are stored. */
    readonly receive: (sessionId: string, updates: readonly Uint8Array[]) => Promise<void>
    /** Everything that a peer with this state vector lacks. */
    readonly missing: (sessionId: string, stateVector: Uint8Array) => Promise<Uint8Array>
    /**
     * Which messages the document has, all of them on disk; `whole`: none is left out because it cannot be read.
     * `undefined` while the host keeps them elsewhere.
     */
    readonly messages: (
      sessionId: string,
    ) => Promise<{ readonly ids: ReadonlySet<string>; readonly whole: boolean } | undefined>
  }
  readonly close: () => Promise<void>
}

export function createMessageStore(options: MessageStoreOptions): MessageStore {
  const { database, environment, names, signal, firstLoad, onProblem = () => {} } = options
  const sessions = new Map<string, MessageSession>()
  const memories = new Map<string, ChatMemory>()
  const homes: Homes = new WeakMap()
  const context: MessageContext = {
    database,
    environment,
    homes,
    onProblem,
    streamLock: (sessionId) => names.lock(`stream:${sessionId}`),
    firstLoad: async (sessionId) => firstLoad?.(sessionId),
    rows: createCompactor({ database, timers: environment.timers, signal, onProblem }),
  }
  signal.addEventListener('abort', () => void close(), { once: true })

  function session(sessionId: string): MessageSession {
    const known = sessions.get(sessionId)
    if (known) return known
    const made = createMessageSession(sessionId, context)
    sessions.set(sessionId, made)
    return made
  }

  function memory(sessionId: string): ChatMemory {
    const known = memories.get(sessionId)
    if (known) return known
    const made = createMemory({ session: session(sessionId), homes, timers: environment.timers })
    memories.set(sessionId, made)
    return made
  }

  async function close(): Promise<void> {
    const reason = new RejoinError('closed', 'This Rejoin is closed.')
    await Promise.all([...sessions.values()].map((each) => each.close(reason)))
  }

  async function isUsed(sessionId: string): Promise<boolean> {
    return memories.has(sessionId) || (await database.lastSeq(sessionId)) > 0
  }

  const open = (sessionId: string) => session(sessionId).openAnew()

  return {
    messages: (sessionId) => session(sessionId).messages,
    memory,
    document: open,
    isUsed,
    async closeInterrupted(sessionId) {
      const document = await open(sessionId)
      const closed = await closeInterrupted(document, environment.locks, context.streamLock(sessionId))
      await document.flush()
      return closed
    },
    documents: {
      open,
      async receive(sessionId, updates) {
        const document = await open(sessionId)
        document.receive(updates)
        await document.flush()
      },
      async missing(sessionId, stateVector) {
        const document = await open(sessionId)
        await document.catchUp()
        return Y.encodeStateAsUpdate(document.doc, stateVector)
      },
      async messages(sessionId) {
        if (!(await isUsed(sessionId))) return undefined
        const document = await open(sessionId)
        await document.catchUp()
        return { ids: new Set(document.mirror.readings().map(({ id }) => id)), whole: document.isWhole() }
      },
    },
    close,
  }
}
