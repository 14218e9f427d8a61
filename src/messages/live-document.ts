import * as Y from 'yjs'
import type { SessionRow, UpdateRow } from '../core/device-session.ts'
import type { Environment } from '../core/environment.ts'
import { createSessionRow, isIncarnation } from '../core/save-snapshot.ts'
import type { RejoinError } from '../errors.ts'
import type { Database, DatabaseEvent } from '../storage/database.ts'
import { buildDocument, isUpdate } from './build-document.ts'
import { createMessageMirror, type MessageMirror, type MirrorOptions } from './message-mirror.ts'
import type { OpenDocument } from './open-document.ts'
import { createSeenSeqs } from './seen-seqs.ts'
import { deleted } from './session-deleted.ts'
import { type Standing, standOn } from './standing.ts'
import { createUpdateLog } from './update-log.ts'

/** How long a row that was announced out of order may be on its way before it is looked for on disk. */
const GAP_AFTER_MS = 50

export interface LiveDocument extends OpenDocument {
  /** Who writes here. */
  readonly device: string
  readonly mirror: MessageMirror
  /** Every change in it is one local edit. */
  readonly edit: <T>(change: () => T) => T
  /** Applies what others committed and this document did not hear of. */
  readonly readMissed: () => Promise<void>
  /** Applies updates of the server. One that cannot be applied is left out and told of, and the others are not. */
  readonly receive: (updates: readonly Uint8Array[]) => void
  /** False: something of it could not be read and was left out. */
  readonly isWhole: () => boolean
  /** Something waits to be committed, or somebody's origin counts as the server's. */
  readonly isBusy: () => boolean
  readonly end: (reason: RejoinError) => void
}

export interface LiveDocumentOptions extends MirrorOptions {
  readonly sessionId: string
  readonly database: Database
  readonly environment: Pick<Environment, 'timers' | 'newId'>
  /** A row that cannot be read or applied: it stays on disk, and the session goes on without it. */
  readonly onBadRow: (seq: number) => void
  /** An update of another tab or of the server that cannot be applied. */
  readonly onBadUpdate: (cause: unknown) => void
  readonly onOutcome: (problem: Error | undefined) => void
  /** The rows that were on disk. */
  readonly onFound: (rows: readonly UpdateRow['bytes'][]) => void
  /** Rows that this document committed. */
  readonly onWritten: (rows: readonly UpdateRow['bytes'][]) => void
  readonly onEnd: (reason: RejoinError) => void
}

/**
 * Reads a session's document from disk and keeps it live: what is edited here is stored, what other tabs committed is
 * applied and stored by nobody else. It announces nothing itself: the database does, after the commit.
 *
 * @throws RejoinError `deleted` if the session is closed for writing, and what the database rejects with.
 */
export async function openLiveDocument(options: LiveDocumentOptions): Promise<LiveDocument> {
  const { sessionId, database, environment } = options
  const { timers } = environment
  const stored = {}
  const serverOrigin = {}
  const serverOrigins = new Set<unknown>([serverOrigin])
  const localOrigin = {}
  const early: DatabaseEvent[] = []
  let hear = (event: DatabaseEvent): void => {
    early.push(event)
  }
  // Before the rows are read, so that nothing falls between reading and hearing; twice does no harm.
  const unsubscribe = database.subscribe((event) => hear(event))

  const seqs = createSeenSeqs()
  const own = new WeakSet<Uint8Array>()
  const ending = new AbortController()
  let gapTimer: unknown
  let looking = Promise.resolve()
  let waiting = false
  let missedSome = false
  let whole = true
  const leaveOut =
    <What>(tell: (what: What) => void) =>
    (what: What): void => {
      whole = false
      tell(what)
    }
  const onBadRow = leaveOut(options.onBadRow)
  const onBadUpdate = leaveOut(options.onBadUpdate)

  const [found, { device }] = await Promise.all([database.read(sessionId), database.meta()]).catch(giveUp)
  const standing = standOn({ incarnation: environment.newId(), stored: false }, found)
  if (!standing) return giveUp(deleted(sessionId))
  let at: Standing = standing
  const rows = found.row ? await readRows(found.row).catch(giveUp) : []
  const doc = buildDocument(rows, stored, (row) => onBadRow(row.seq))
  options.onFound(rows.map((row) => row.bytes))

  const log = createUpdateLog({ write, timers, onOutcome: options.onOutcome })
  doc.on('update', (bytes: Uint8Array, origin: unknown) => {
    if (origin !== stored) log.append(bytes, serverOrigins.has(origin) ? 'server' : 'local')
  })
  const mirror = createMessageMirror(doc, { ...options, onMalformed: leaveOut(options.onMalformed) })
  hear = handle
  for (const event of early.splice(0)) handle(event)

  function giveUp(error: unknown): never {
    unsubscribe()
    throw error
  }

  /** Those that this document has not seen, of its session and not of one that had its id before. */
  async function readRows(row: SessionRow): Promise<UpdateRow[]> {
    const all = await database.updates(sessionId, { afterSeq: seqs.through(), onCorrupt: onBadRow })
    for (const { seq } of all) seqs.advance(seq)
    return all.filter(({ incarnation }) => isIncarnation(row, incarnation))
  }

  async function write(origin: UpdateRow['origin'], bytes: readonly Uint8Array[]): Promise<void> {
    for (const each of bytes) own.add(each)
    const written = await database.transactUpdates(sessionId, 'relaxed', (session) => {
      const next = standOn(at, session)
      if (!next) return { result: undefined }
      return {
        ...(!session.row && { change: { row: createSessionRow(sessionId, next.incarnation) } }),
        append: { incarnation: next.incarnation, origin, bytes },
        result: { incarnation: next.incarnation, first: session.lastSeq + 1 },
      }
    })
    if (!written) {
      end(deleted(sessionId))
      throw deleted(sessionId)
    }
    at = { incarnation: written.incarnation, stored: true }
    seqs.add(written.first, bytes.length)
    options.onWritten(bytes)
  }

  function handle(event: DatabaseEvent): void {
    if (event.kind === 'meta' || event.sessionId !== sessionId) return
    if (event.kind === 'session' || event.incarnation !== at.incarnation) {
      check(event.remote || event.kind === 'updates')
      return
    }
    apply(event.bytes.filter((bytes) => !own.has(bytes)))
    seqs.add(event.firstSeq, event.bytes.length)
    if (seqs.gap() || event.firstSeq > seqs.through() + 1) lookForGap()
  }

  /** Somebody else's bytes: what is no update is not let near the document. */
  function apply(all: readonly Uint8Array[], origin: object = stored): void {
    doc.transact(() => {
      for (const bytes of all) {
        try {
          if (!isUpdate(bytes)) throw new TypeError('These bytes are no update.')
          Y.applyUpdate(doc, bytes, origin)
        } catch (error) {
          onBadUpdate(error)
        }
      }
    }, origin)
  }

  function lookForGap(): void {
    gapTimer ??= timers.setTimeout(() => {
      gapTimer = undefined
      readMissed().catch(() => {}) // what the database cannot read it reports itself
    }, GAP_AFTER_MS)
  }

  async function readMissed(): Promise<void> {
    const last = await database.lastSeq(sessionId)
    if (last <= seqs.through()) return
    const { row } = await database.read(sessionId)
    if (!row) return
    const rows = await readRows(row)
    seqs.advance(last) // also past rows that cannot be read
    if (!ending.signal.aborted) apply(rows.map(({ bytes }) => bytes))
  }

  /** One look at a time; all who ask during one are answered by the next. */
  function check(missed: boolean): void {
    missedSome ||= missed
    if (waiting) return
    waiting = true
    looking = looking.then(look).catch(() => {}) // the database says so itself, and the next write finds out
  }

  async function look(): Promise<void> {
    const missed = missedSome
    missedSome = false
    waiting = false
    const session = await database.read(sessionId)
    if (ending.signal.aborted) return
    const next = standOn(at, session)
    if (!next) return end(deleted(sessionId))
    const changed = next.incarnation !== at.incarnation
    at = next
    if (changed || missed) await readMissed()
  }

  function end(reason: RejoinError): void {
    if (ending.signal.aborted) return
    unsubscribe()
    timers.clearTimeout(gapTimer)
    log.end(reason)
    mirror.release()
    ending.abort(reason)
    doc.destroy()
    options.onEnd(reason)
  }

  return {
    sessionId,
    device,
    get incarnation() {
      return at.incarnation
    },
    doc,
    serverOrigin,
    addServerOrigin(origin) {
      serverOrigins.add(origin)
      return () => {
        serverOrigins.delete(origin)
      }
    },
    ended: ending.signal,
    mirror,
    edit: (change) => doc.transact(change, localOrigin),
    flush: log.flush,
    async catchUp() {
      await log.flush()
      await readMissed()
    },
    readMissed,
    receive: (updates) => apply(updates, serverOrigin),
    isWhole: () => whole,
    isBusy: () => !log.isEmpty() || serverOrigins.size > 1,
    end,
  }
}
