import { isSafeId } from '../contract/safe-id.ts'
import type { MetaRow, SessionRow, UpdateRow } from '../core/device-session.ts'
import type { AppendUpdates, Database, DecidedWithUpdates, Durability, SessionWithUpdates } from './database.ts'
import type { DeviceIdentity } from './database-options.ts'
import { isClaimRow, isDeleteRow, type Quarantine } from './quarantine.ts'
import { readAllOrOneByOne } from './read-all-or-one-by-one.ts'
import { removeUpdates } from './remove-updates.ts'
import type { Engine, Rows } from './rows.ts'
import type { StoreName } from './schema.ts'
import type { TabEvents } from './tab-events.ts'
import type { TabMessage } from './tab-message.ts'
import { writeChange } from './write-change.ts'

export interface DatabaseParts {
  readonly engine: Engine
  readonly quarantine: Quarantine
  readonly events: TabEvents
  readonly identity: DeviceIdentity
  readonly newId: () => string
}

/** Everything that a database is, apart from where its rows lie. */
export function createDatabase({ engine, quarantine, events, identity, newId }: DatabaseParts): Database {
  function read<Found>(stores: readonly StoreName[], work: (rows: Rows) => Promise<Found>): Promise<Found> {
    return engine.transaction('read', stores, work, (found) => found)
  }

  async function outbox(rows: Rows, sessionId?: string) {
    return quarantine.outbox(await rows.outbox(sessionId), () => rows.outboxKeys(sessionId))
  }

  async function write<Result>(
    sessionId: string,
    durability: Durability,
    lastSeqOf: (rows: Rows) => Promise<number>,
    decide: (session: SessionWithUpdates) => DecidedWithUpdates<Result>,
  ): Promise<Result> {
    const { decided, lastSeq } = await engine.transaction(
      durability,
      // The updates too, although few decisions remove any: what a transaction covers is fixed before it has read.
      ['sessions', 'outbox', 'updates'],
      (rows) => Promise.all([rows.session(sessionId), outbox(rows, sessionId), lastSeqOf(rows)]),
      ([stored, waiting, lastSeq], rows) => {
        const row = quarantine.sessionToWrite(stored, sessionId)
        const decided = decide({
          row,
          claims: waiting.filter(isClaimRow),
          deletes: waiting.filter(isDeleteRow),
          lastSeq,
        })
        const append = () => {
          for (const update of rowsOf(sessionId, lastSeq, decided.append)) rows.putUpdate(update)
          return { decided, lastSeq }
        }
        const removing = decided.change && writeChange(rows, sessionId, decided.change)
        return removing ? removing.then(append) : append()
      },
    )
    for (const message of messagesOf(sessionId, decided, lastSeq)) events.committed(message)
    return decided.result
  }

  /** A row that is missing or cannot be read is made anew; the device stays who it was if that much is left of it. */
  function metaOf(stored: unknown): MetaRow {
    const device = (stored as Partial<MetaRow> | undefined)?.device
    return (
      quarantine.meta(stored) ?? {
        ...identity,
        device: isSafeId(device) ? device : newId(),
        since: 0,
        clockOffsetMs: 0,
      }
    )
  }

  async function updateMeta(change: (meta: MetaRow) => MetaRow): Promise<MetaRow> {
    const { meta, written } = await engine.transaction(
      'strict',
      ['meta'],
      (rows) => rows.meta(),
      (stored, rows) => {
        const meta = change(metaOf(stored))
        const written = meta !== stored
        if (written) rows.putMeta(meta)
        return { meta, written }
      },
    )
    if (written) events.committed({ kind: 'meta' })
    return meta
  }

  return {
    persistent: engine.persistent,

    transact: (sessionId, durability, decide) =>
      write(
        sessionId,
        durability,
        async () => 0,
        ({ row, claims, deletes }) => decide({ row, claims, deletes }),
      ),

    transactUpdates: (sessionId, durability, decide) =>
      write(sessionId, durability, (rows) => rows.lastSeq(sessionId), decide),

    async read(sessionId) {
      const [stored, waiting] = await read(['sessions', 'outbox'], (rows) =>
        Promise.all([rows.session(sessionId), outbox(rows, sessionId)]),
      )
      return {
        row: quarantine.session(stored),
        claims: waiting.filter(isClaimRow),
        deletes: waiting.filter(isDeleteRow),
      }
    },

    async sessions() {
      const stored = await readAllOrOneByOne(
        () => read(['sessions'], (rows) => rows.sessions()),
        () => read(['sessions'], (rows) => rows.sessionIds()),
        (sessionId) => read(['sessions'], (rows) => rows.session(sessionId)),
        (sessionId) => quarantine.report('sessions', sessionId),
      )
      return stored.map(quarantine.session).filter((row): row is SessionRow => row !== undefined)
    },

    claims: async () => (await read(['outbox'], outbox)).filter(isClaimRow),

    deletes: async () => (await read(['outbox'], outbox)).filter(isDeleteRow),

    async updates(sessionId, { afterSeq = 0, origin, onCorrupt } = {}) {
      const corrupt = (seq: number) => {
        quarantine.report('updates', [sessionId, seq])
        onCorrupt?.(seq)
      }
      const stored = await readAllOrOneByOne(
        () => read(['updates'], (rows) => rows.updates(sessionId, afterSeq + 1, Infinity)),
        () => read(['updates'], (rows) => rows.updateSeqs(sessionId, afterSeq + 1, Infinity)),
        async (seq) => (await read(['updates'], (rows) => rows.updates(sessionId, seq, seq)))[0],
        corrupt,
      )
      const readable = quarantine.updates(stored, corrupt)
      return origin === undefined ? readable : readable.filter((row) => row.origin === origin)
    },

    lastSeq: (sessionId) => read(['updates'], (rows) => rows.lastSeq(sessionId)),

    compactUpdates: (sessionId, { fromSeq, toSeq, expectedRows }, { incarnation, origin, bytes }) =>
      engine.transaction(
        'relaxed',
        ['updates'],
        (rows) => rows.updates(sessionId, fromSeq, toSeq),
        (found, rows) => {
          const replaced = new Set(quarantine.updates(found).filter((row) => row.incarnation === incarnation))
          const kept = (found as readonly UpdateRow[]).filter((row) => !replaced.has(row))
          if (replaced.size !== expectedRows || kept.some((row) => row.seq === toSeq)) return false
          removeUpdates(rows, sessionId, found, (row) => replaced.has(row as UpdateRow))
          rows.putUpdate({ sessionId, incarnation, seq: toSeq, origin, bytes: alone(bytes) })
          return true
        },
      ),

    meta: async () =>
      quarantine.meta(await read(['meta'], (rows) => rows.meta())) ?? (await updateMeta((meta) => meta)),

    updateMeta,

    subscribe: events.subscribe,

    async close() {
      await engine.close()
      events.close()
    },
  }
}

function rowsOf(sessionId: string, lastSeq: number, append: AppendUpdates | undefined): readonly UpdateRow[] {
  if (!append) return []
  const { incarnation, origin } = append
  return append.bytes.map((bytes, at) => ({
    sessionId,
    incarnation,
    seq: lastSeq + 1 + at,
    origin,
    bytes: alone(bytes),
  }))
}

/** Messages first: who hears that a snapshot changed already has the messages that it names. */
function messagesOf(sessionId: string, decided: DecidedWithUpdates<unknown>, lastSeq: number): readonly TabMessage[] {
  const { append, change } = decided
  const messages: TabMessage[] = []
  if (append && append.bytes.length > 0) {
    messages.push({ kind: 'updates', sessionId, ...append, bytes: append.bytes.map(alone), firstSeq: lastSeq + 1 })
  }
  if (change && Object.keys(change).length > 0) messages.push({ kind: 'session', sessionId })
  return messages
}

/** A view is cloned with the whole buffer that it looks into, to disk and to other tabs. */
function alone(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice()
}
