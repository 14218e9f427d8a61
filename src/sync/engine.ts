import type { DeviceSession } from '../core/device-session.ts'
import { areMessagesRefused } from '../core/refused-messages.ts'
import { createSessionRow } from '../core/save-snapshot.ts'
import type { FeedItem } from '../protocol/feed.ts'
import type { Epoch, ETag, Incarnation } from '../protocol/identity.ts'
import { hasUnsentUpdates, type IndexedSession } from '../storage/session-index.ts'
import { createBackOff } from './back-off.ts'
import { hasUnsentClaims } from './dispatch-claims.ts'
import type { LiveSockets } from './live-sockets.ts'
import { isLevel } from './remote-positions.ts'
import type { SyncContext } from './sync-context.ts'
import { createSessionSync, type SessionSyncParts } from './sync-session.ts'

/** A lost hint is healed by a look at the feed this often. */
const POLL_MS = 20_000
const LOOK_SOON_MS = 1000
/** Changes of one session within this time are sent together. */
const GATHER_MS = 20

export interface SyncEngine {
  /** Something of the session is to be sent, or the server said that it moved. */
  readonly wake: (sessionId: string) => void
  /** The server's session stands at `etag`, at position `head` of its updates. */
  readonly moved: (sessionId: string, etag: ETag | null, head: number) => void
  /** Looks at the feed and sends everything, now. */
  readonly retryNow: () => void
  /** Looks at the feed, where the server is known to be there. */
  readonly lookAround: () => void
  /** The same within a second, so that not all devices come at once when a server goes. */
  readonly lookSoon: () => void
  readonly stop: () => void
}

export interface EngineParts extends SessionSyncParts {
  readonly sockets: LiveSockets
}

/**
 * Keeps this device and the server level while it runs; one tab of a device runs it. Per session, in this order: deletes,
 * messages, decisions, snapshot. Correct also where two run at once: rows are compare-and-set, and requests are repeatable.
 */
export function startSyncEngine(context: SyncContext, parts: EngineParts): SyncEngine {
  const { database, index, client, connection, environment } = context
  const { timers } = environment
  const { positions } = parts
  const backOff = createBackOff(environment.random)
  const waiting = new Set<string>()
  /** How far the feed was read by this tab; another epoch's feed is another one. */
  let reached: { readonly epoch: Epoch; readonly seq: number } | undefined
  let stopped = false
  let gathering: unknown
  let retrying: unknown
  let polling: unknown
  let soon: unknown
  let working: Promise<void> | undefined
  let looking: Promise<void> | undefined
  const syncSession = createSessionSync(context, parts, canSend)

  const known = new Map<string, Incarnation>()
  const stopIndex = index.subscribe(() => {
    joinKnown()
    wakeUnsent()
  })
  const stopOnline = environment.lifecycle.on('online', () => {
    if (connection.get().state === 'offline') connection.set({ state: 'connecting' })
    retryNow()
  })
  const stopVisible = environment.lifecycle.on('visible', retryNow)
  const stopConnection = connection.subscribe(() => {
    const { state } = connection.get()
    if (state === 'online') return
    positions.lose()
    if (state !== 'connecting') retryLater()
  })
  const stopOffline = environment.lifecycle.on('offline', () => {
    connection.set({ state: 'offline', reason: 'there is no network' })
  })
  retryNow()
  poll()

  return { wake, moved, retryNow, lookAround, lookSoon, stop }

  function stop(): void {
    stopped = true
    for (const end of [stopIndex, stopOnline, stopVisible, stopOffline, stopConnection]) end()
    for (const timer of [gathering, retrying, polling, soon]) timers.clearTimeout(timer)
  }

  function wake(sessionId: string): void {
    if (stopped) return
    waiting.add(sessionId)
    if (gathering !== undefined || working !== undefined) return
    gathering = timers.setTimeout(() => {
      gathering = undefined
      work()
    }, GATHER_MS)
  }

  function moved(sessionId: string, etag: ETag | null, head: number): void {
    positions.set(sessionId, { etag, head })
    wake(sessionId)
  }

  function retryNow(): void {
    if (stopped) return
    parts.sockets.retryNow()
    if (looking !== undefined) return
    timers.clearTimeout(retrying)
    retrying = undefined
    looking = lookAtFeed()
      .catch(context.onError)
      .finally(() => {
        looking = undefined
      })
  }

  function lookAround(): void {
    if (connection.get().state === 'online') retryNow()
  }

  function lookSoon(): void {
    if (stopped) return
    soon ??= timers.setTimeout(() => {
      soon = undefined
      lookAround()
    }, environment.random() * LOOK_SOON_MS)
  }

  function poll(): void {
    polling = timers.setTimeout(() => {
      lookAround()
      poll()
    }, POLL_MS)
  }

  /** There is a room for every session that the server knows: one that it has come to know is joined at once, rule I2. */
  function joinKnown(): void {
    for (const { sessionId, row } of index.get().values()) {
      if (!row?.confirmed || row.deleted || areMessagesRefused(row)) known.delete(sessionId)
      else if (known.get(sessionId) !== row.incarnation) {
        known.set(sessionId, row.incarnation)
        parts.sockets.retryNow(sessionId)
      }
    }
  }

  function wakeUnsent(): void {
    for (const session of index.get().values()) if (isUnsent(session)) wake(session.sessionId)
  }

  function work(): void {
    if (working !== undefined || !canSend()) return
    working = drain()
      .catch(context.onError)
      .finally(() => {
        working = undefined
        if (waiting.size > 0 && canSend()) work()
      })
  }

  /** Not before the feed was read: what it says to be deleted is not sent (G8), and only it shows the right server. */
  function canSend(): boolean {
    return !stopped && connection.get().state === 'online' && positions.isCaughtUp()
  }

  async function drain(): Promise<void> {
    for (const sessionId of waiting) {
      if (!canSend()) return
      waiting.delete(sessionId)
      if (await syncSession(sessionId)) continue
      waiting.add(sessionId)
      retryLater()
      return
    }
    await keepReached()
    backOff.reset()
  }

  /** The feed's position is stored when all that it named was looked at: a tab that dies before forgets nothing. */
  async function keepReached(): Promise<void> {
    if (reached === undefined || !positions.isEmpty() || context.meta().since === reached.seq) return
    const { epoch, seq } = reached
    await context.updateMeta((meta) => (meta.epoch === epoch ? { ...meta, since: seq } : meta))
  }

  function retryLater(): void {
    if (stopped || retrying !== undefined) return
    retrying = timers.setTimeout(() => {
      retrying = undefined
      retryNow()
    }, backOff.nextMs())
  }

  /** The feed comes first after a pause: deletions are applied before anything is sent (G8). */
  async function lookAtFeed(): Promise<void> {
    for (;;) {
      const { epoch } = context.meta()
      const since = reached && reached.epoch === epoch ? reached.seq : context.meta().since
      const reply = connection.hear(await client.feed(since, context.signal))
      if (stopped) return
      if (reply.kind === 'problem' && reply.status !== 401) {
        connection.set({ state: 'offline', reason: reply.problem.message })
      }
      if (reply.kind !== 'answer' || !(await parts.remote.hear(reply.body))) return retryLater()
      const { items, head, more } = reply.body
      // Another epoch began with this very answer: its feed is to be read from the start.
      if (epoch !== undefined && reply.body.epoch !== epoch) continue
      if (head < since) {
        connection.endEpoch(reply.body.epoch)
        return retryLater()
      }
      const seq = more ? (items.at(-1)?.seq ?? since) : head
      // A feed that goes on without getting anywhere would be asked for ever.
      if (more && seq <= since) return retryLater()
      connection.set({ state: 'online' })
      for (const item of items) await takeItem(item)
      reached = { epoch: reply.body.epoch, seq }
      if (!more) break
    }
    if (connection.get().state === 'online') positions.catchUp()
    await keepReached()
    await index.settled()
    wakeUnsent()
    work()
  }

  async function takeItem({ sessionId, incarnation, etag, head, deleted }: FeedItem): Promise<void> {
    const { row } = await database.read(sessionId)
    if (deleted) {
      if (row?.incarnation === incarnation) await parts.remote.deleted(sessionId)
      return
    }
    if (!row) await database.transact(sessionId, 'relaxed', (session) => knowOf(session, sessionId, incarnation))
    // Where this device stands level already, as after its own writes, there is nothing to ask for.
    if (row && isLevel(row, { etag, head })) return
    moved(sessionId, etag, head)
  }
}

function isUnsent(session: IndexedSession): boolean {
  const { row, deletes } = session
  if (deletes.some((removal) => !removal.problem)) return true
  if (!row || row.deleted) return false
  return (
    hasUnsentUpdates(session) ||
    hasUnsentClaims(session) ||
    row.sent !== undefined ||
    row.incoming !== undefined ||
    (row.dirty && !row.refused)
  )
}

/** Deleted here, and the server is still to hear of it: what the feed says is older news. */
function knowOf({ row, deletes }: DeviceSession, sessionId: string, incarnation: string) {
  if (row || deletes.length > 0) return { result: undefined }
  return { change: { row: { ...createSessionRow(sessionId, incarnation), confirmed: true } }, result: undefined }
}
