import type { ClaimRow, DeleteRow, MetaRow, OutboxRow, SessionRow, UpdateRow } from '../core/device-session.ts'
import { RejoinError } from '../errors.ts'
import { isMetaRow, isOutboxRow, isSessionRow, isUpdateRow } from './row-shapes.ts'
import { META_KEY, type StoreName } from './schema.ts'

/** A row that could not be read. It stays on disk as it is. */
export interface CorruptRow {
  readonly store: StoreName
  readonly key: IDBValidKey
}

/** Lets readable rows through, leaves the others out and reports each of those once. */
export interface Quarantine {
  readonly session: (value: unknown) => SessionRow | undefined
  /** For a transaction that may write: rejects with `storage-corrupt` what must not be taken for absent. */
  readonly sessionToWrite: (value: unknown, sessionId: string) => SessionRow | undefined
  readonly outbox: (
    values: readonly unknown[],
    keys: () => Promise<readonly IDBValidKey[]>,
  ) => Promise<readonly OutboxRow[]>
  readonly updates: (values: readonly unknown[], onCorrupt?: (seq: number) => void) => readonly UpdateRow[]
  readonly meta: (value: unknown) => MetaRow | undefined
  /** A row that the browser itself cannot read. */
  readonly report: (store: StoreName, key: IDBValidKey) => void
}

export function createQuarantine(onCorrupt: (row: CorruptRow) => void = () => {}): Quarantine {
  const reported = new Set<string>()

  const report = (store: StoreName, key: IDBValidKey) => {
    const name = JSON.stringify([store, key])
    if (reported.has(name)) return
    reported.add(name)
    onCorrupt({ store, key })
  }

  const session: Quarantine['session'] = (value) => {
    if (value === undefined) return undefined
    if (isSessionRow(value)) return value
    report('sessions', (value as SessionRow).sessionId)
    return undefined
  }

  return {
    session,
    sessionToWrite(value, sessionId) {
      const row = session(value)
      if (row || value === undefined) return row
      throw new RejoinError('storage-corrupt', `The stored row of session ${sessionId} cannot be read.`, {
        hint: 'It was left on disk as it is. Its messages are stored apart and can still be read.',
      })
    },
    // Most outboxes are empty, and the keys are only asked for when a row is bad: this is on the path of every save.
    async outbox(values, keys) {
      const readable = values.filter(isOutboxRow)
      if (readable.length < values.length) {
        const all = await keys()
        values.forEach((value, at) => {
          if (!isOutboxRow(value)) report('outbox', all[at] ?? at)
        })
      }
      return readable
    },
    updates(values, onUnreadable) {
      if (values.every(isUpdateRow)) return values
      return values.filter((value): value is UpdateRow => {
        if (isUpdateRow(value)) return true
        const { sessionId, seq } = value as UpdateRow // they are its key, so they are there
        report('updates', [sessionId, seq])
        onUnreadable?.(seq)
        return false
      })
    },
    meta(value) {
      if (value === undefined) return undefined
      if (isMetaRow(value)) return value
      report('meta', META_KEY)
      return undefined
    },
    report,
  }
}

export function isClaimRow(row: OutboxRow): row is ClaimRow {
  return row.kind === 'claim'
}

export function isDeleteRow(row: OutboxRow): row is DeleteRow {
  return row.kind === 'delete'
}
