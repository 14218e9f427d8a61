import type { IDBPTransaction } from 'idb'
import type { Rows } from './rows.ts'
import { META_KEY, outboxKeyOf, type Schema, type StoreName } from './schema.ts'

export type WritableTransaction = IDBPTransaction<Schema, StoreName[], 'readwrite'>

/** The rows of an IndexedDB transaction. `track` makes each write: it may throw at once or later. */
export function indexedRows(tx: WritableTransaction, track: (write: () => Promise<unknown>) => void): Rows {
  return {
    session: (sessionId) => tx.objectStore('sessions').get(sessionId),
    sessions: () => tx.objectStore('sessions').getAll(),
    sessionIds: () => tx.objectStore('sessions').getAllKeys(),
    outbox: (sessionId) =>
      sessionId === undefined
        ? tx.objectStore('outbox').getAll()
        : tx.objectStore('outbox').index('sessionId').getAll(sessionId),
    outboxKeys: (sessionId) =>
      sessionId === undefined
        ? tx.objectStore('outbox').getAllKeys()
        : tx.objectStore('outbox').index('sessionId').getAllKeys(sessionId),
    updates: (sessionId, fromSeq, toSeq) => tx.objectStore('updates').getAll(seqs(sessionId, fromSeq, toSeq)),
    async updateSeqs(sessionId, fromSeq, toSeq) {
      const keys = await tx.objectStore('updates').getAllKeys(seqs(sessionId, fromSeq, toSeq))
      return keys.map(([, seq]) => seq)
    },
    async lastSeq(sessionId) {
      const last = await tx.objectStore('updates').openKeyCursor(seqs(sessionId, 0, Infinity), 'prev')
      return last ? last.primaryKey[1] : 0
    },
    meta: () => tx.objectStore('meta').get(META_KEY),

    putSession: (row) => track(() => tx.objectStore('sessions').put(row)),
    removeSession: (sessionId) => track(() => tx.objectStore('sessions').delete(sessionId)),
    putOutbox: (row) => track(() => tx.objectStore('outbox').put(row, outboxKeyOf(row))),
    removeOutbox: (key) => track(() => tx.objectStore('outbox').delete(key)),
    putUpdate: (row) => track(() => tx.objectStore('updates').put(row)),
    removeUpdates: (sessionId, fromSeq, toSeq) =>
      track(() => tx.objectStore('updates').delete(seqs(sessionId, fromSeq, toSeq))),
    putMeta: (row) => track(() => tx.objectStore('meta').put(row, META_KEY)),
  }
}

function seqs(sessionId: string, fromSeq: number, toSeq: number): IDBKeyRange {
  return IDBKeyRange.bound([sessionId, fromSeq], [sessionId, toSeq])
}
