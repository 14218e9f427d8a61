import type { ChatMemory } from '../contract/chat-memory.ts'
import type { Message } from '../contract/chat-message.ts'
import type { Environment } from '../core/environment.ts'
import type { StoredMessage } from '../core/stored-message.ts'
import { isRejoinError, RejoinError } from '../errors.ts'
import { applyChanges } from './apply-changes.ts'
import { decodeMessage } from './decode-message.ts'
import { encodeMessage, requireMessages } from './encode-message.ts'
import { type Caller, createLineages, type Homes } from './lineage.ts'
import type { LiveDocument } from './live-document.ts'
import { LOAD_WITHIN_MS, type MessageSession, notLoaded } from './message-session.ts'
import { saveList } from './save-list.ts'
import { withinTime } from './within-time.ts'

/** A save never waits longer: upstream keeps one under way, and one that hangs would block all later ones. */
const SAVE_WITHIN_MS = 5000

export interface MemoryOptions {
  readonly session: MessageSession
  readonly homes: Homes
  readonly timers: Environment['timers']
}

export interface SaveOptions {
  readonly signal?: AbortSignal
  readonly caller?: Caller
}

/**
 * The `ChatMemory` of one session, the same object for everybody in this tab.
 *
 * - `load` gives the whole history in fresh objects, each call its own.
 * - `save` replaces what its caller knew by what it saves: what the caller never saw is not removed (G7), and what it
 *   saves unchanged is not written. It resolves on the local commit, within 5 s, and never waits for the network.
 *   `save([])` removes nothing, because a caller that has not loaded yet saves the same.
 * - `clear` removes what the document shows, however it stands to the `save([])` beside it; of a session that was deleted
 *   there is nothing to remove, and it begins none.
 *
 * Failures reject with a RejoinError (`not-loaded`, `refused`, `deleted`, `storage-unavailable`, `storage-full`,
 * `closed`) or an aborted signal's reason; upstream may swallow them, so they are in `SessionMessages.problem()` too.
 */
export function createMemory({
  session,
  homes,
  timers,
}: MemoryOptions): Required<Pick<ChatMemory, 'load' | 'save' | 'clear'>> {
  const { origins, life } = session
  const lineages = createLineages(life, origins, homes)
  const encoded = new WeakMap<Message, StoredMessage>()

  function opened(signal: AbortSignal | undefined): Promise<LiveDocument> {
    return withinTime(session.open(), SAVE_WITHIN_MS, tooSlow, { timers, signal })
  }

  async function load({ signal }: { signal?: AbortSignal } = {}): Promise<Message[]> {
    signal?.throwIfAborted()
    const late = () => notLoaded(life().sessionId)
    const document = await withinTime(session.loaded(), LOAD_WITHIN_MS, late, { timers, signal })
    const lineage = lineages.begin([])
    lineage.base = document.mirror.readings().flatMap(({ slot, id }) => {
      const message = document.mirror.read(slot)
      if (!message) return []
      const copy = decodeMessage(message, id)
      const stored = id === message.id ? message : { ...message, id }
      origins.set(copy, { life: lineage.life, lineage, slot, stored })
      homes.set(copy, lineage.life)
      return copy
    })
    return [...lineage.base]
  }

  /** Synchronous as soon as the document is open: the list may change after the call. */
  async function save(messages: readonly Message[], { signal, caller }: SaveOptions): Promise<void> {
    if (!Array.isArray(messages)) throw new RejoinError('refused', 'A memory saves a list of messages.')
    let document = session.current()
    let list = messages
    if (!document) {
      list = [...messages]
      requireMessages(list)
      for (const message of list) if (!origins.has(message)) encoded.set(message, encodeMessage(message))
      document = await opened(signal)
    }
    write(document, list, caller)
    await withinTime(document.flush(), SAVE_WITHIN_MS, tooSlow, { timers })
  }

  function write(document: LiveDocument, list: readonly Message[], caller: Caller | undefined): void {
    const lineage = caller ? lineages.of(caller, list) : lineages.find(list)
    const wrote = saveList(list, { document, lineage, origins, homes, encoded })
    if (caller) lineages.saved(caller, list)
    const last = list.at(-1)
    if (last?.status !== 'streaming') session.streams.release()
    // Others' streams are shown here too; only who writes into one keeps it open.
    else if (wrote && origins.get(last)?.lineage) session.streams.hold()
  }

  async function clear(signal: AbortSignal | undefined): Promise<void> {
    const document = session.current() ?? (await opened(signal))
    const { mirror, doc } = document
    const slots = new Map(mirror.slots().map((slot, at) => [String(at), slot]))
    const changes = { placements: [], edits: [], removals: [...slots.keys()], keys: [] }
    document.edit(() =>
      applyChanges(doc, mirror, { changes, slots, anchor: undefined }, { device: document.device, lineage: life() }),
    )
    session.streams.release()
    await withinTime(document.flush(), SAVE_WITHIN_MS, tooSlow, { timers })
  }

  async function reported(work: () => Promise<void>, signal: AbortSignal | undefined): Promise<void> {
    try {
      await work()
      session.report(undefined)
    } catch (error) {
      if (!signal?.aborted) session.report(error as Error)
      throw error
    }
  }

  return {
    load,
    async save(messages, options: SaveOptions = {}) {
      const { signal } = options
      signal?.throwIfAborted()
      if (Array.isArray(messages) && messages.length === 0) return
      await reported(() => save(messages, options), signal)
    },
    async clear({ signal } = {}) {
      signal?.throwIfAborted()
      await reported(() => clear(signal).catch(unlessDeleted), signal)
    },
  }
}

/** Its messages went with the session: nothing is left to clear. */
function unlessDeleted(error: unknown): void {
  if (!isRejoinError(error, 'deleted')) throw error
}

function tooSlow(): RejoinError {
  return new RejoinError('storage-unavailable', "This device's storage did not answer in time.", {
    hint: 'It is tried again by itself; keep the page open while the status says that something is not stored.',
  })
}
