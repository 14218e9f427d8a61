import type { DeviceSession } from '../core/device-session.ts'
import { createObservableValue, type Observable } from '../core/observable-value.ts'
import type { Database, DatabaseEvent } from './database.ts'

/** What the database holds of one session, as far as lists and the status show it. */
export interface IndexedSession extends DeviceSession {
  readonly sessionId: string
  /** The highest seq of a local update, `0` for none. */
  readonly lastLocalSeq: number
}

export type SessionIndex = ReadonlyMap<string, IndexedSession>

export interface LiveSessionIndex extends Observable<SessionIndex> {
  /** The index has everything that was on disk when it was opened. */
  readonly ready: Promise<void>
  /** False while a commit was heard of and not read yet. */
  readonly isCurrent: () => boolean
  /** Called when it stops being current. Returns the way to stop. */
  readonly onUnrest: (listener: () => void) => () => void
  /** Resolves when all commits that were heard of so far are in. */
  readonly settled: () => Promise<void>
}

/** True if the server has not acknowledged all messages of the session, or has to be asked whether it still has them. */
export function hasUnsentUpdates({ row, lastLocalSeq }: IndexedSession): boolean {
  return lastLocalSeq > (row?.acked ?? 0) || row?.giveBack === true
}

/** Keeps all sessions of the account at hand, one read per commit that changed what is listed of a session. */
export function createSessionIndex(
  database: Database,
  { signal, onError }: { readonly signal: AbortSignal; readonly onError: (error: unknown) => void },
): LiveSessionIndex {
  const value = createObservableValue<SessionIndex>(new Map())
  const stale = new Set<string>()
  const unread = new Set<string>()
  const localSeqs = new Map<string, number>()
  const unrest = new Set<() => void>()
  let refreshing: Promise<void> | undefined
  const isCurrent = () => stale.size + unread.size === 0 && refreshing === undefined

  const stop = database.subscribe((event) => {
    noteSeq(event)
    if (event.kind === 'meta' || (event.kind === 'updates' && takeUpdates(event))) return
    const wasCurrent = isCurrent()
    stale.add(event.sessionId)
    if (wasCurrent) for (const listener of [...unrest]) listener()
    void refresh()
  })
  signal.addEventListener('abort', stop, { once: true })
  const ready = start()
  ready.catch(onError)

  return {
    get: value.get,
    subscribe: value.subscribe,
    isCurrent,
    onUnrest(listener) {
      unrest.add(listener)
      return () => unrest.delete(listener)
    },
    ready,
    async settled() {
      await ready
      while (refreshing !== undefined) await refreshing
    },
  }

  async function start(): Promise<void> {
    const [rows, claims, deletes] = await Promise.all([database.sessions(), database.claims(), database.deletes()])
    for (const { sessionId } of [...rows, ...claims, ...deletes]) stale.add(sessionId)
    await refresh()
  }

  /** One at a time; it goes on until nothing is stale. */
  function refresh(): Promise<void> {
    refreshing ??= takeIn().finally(() => {
      refreshing = undefined
      if (stale.size > 0 && !signal.aborted) void refresh()
    })
    return refreshing
  }

  async function takeIn(): Promise<void> {
    let ids: readonly string[] = []
    try {
      while (stale.size > 0 && !signal.aborted) {
        const next = new Map(value.get())
        ids = [...stale, ...unread]
        stale.clear()
        unread.clear()
        await Promise.all(ids.map(async (sessionId) => next.set(sessionId, await readOne(sessionId))))
        for (const [sessionId, { row, claims, deletes }] of next) {
          if (!row && claims.length === 0 && deletes.length === 0) next.delete(sessionId)
        }
        value.set(next)
      }
    } catch (error) {
      // Tried again with the next commit; until then nobody may call what is shown current.
      for (const sessionId of ids) unread.add(sessionId)
      if (!signal.aborted) onError(error)
    }
  }

  async function readOne(sessionId: string): Promise<IndexedSession> {
    const { row, claims, deletes } = await database.read(sessionId)
    if (!row) localSeqs.delete(sessionId)
    else if (!localSeqs.has(sessionId)) {
      const unsent = await database.updates(sessionId, { afterSeq: row.acked, origin: 'local' })
      localSeqs.set(sessionId, Math.max(localSeqs.get(sessionId) ?? 0, unsent.at(-1)?.seq ?? 0))
    }
    return { sessionId, row, claims, deletes, lastLocalSeq: row ? (localSeqs.get(sessionId) ?? 0) : 0 }
  }

  /** Updates of a session that is at hand change nothing that is listed but how far they go: a token costs no read. */
  function takeUpdates({ sessionId, origin, bytes }: Extract<DatabaseEvent, { kind: 'updates' }>): boolean {
    const known = value.get().get(sessionId)
    if (!known?.row || bytes.length === 0 || !isCurrent()) return false
    const lastLocalSeq = localSeqs.get(sessionId) ?? 0
    if (origin === 'local') value.set(new Map(value.get()).set(sessionId, { ...known, lastLocalSeq }))
    return true
  }

  function noteSeq(event: DatabaseEvent): void {
    if (event.kind !== 'updates' || event.origin !== 'local') return
    const last = event.firstSeq + event.bytes.length - 1
    localSeqs.set(event.sessionId, Math.max(localSeqs.get(event.sessionId) ?? 0, last))
  }
}
