import type { IDBPDatabase } from 'idb'
import type { Timers } from '../core/environment.ts'
import { RejoinError } from '../errors.ts'
import { indexedRows, type WritableTransaction } from './indexed-rows.ts'
import type { Access, Rows } from './rows.ts'
import type { Schema, StoreName } from './schema.ts'

/** How long a transaction may wait for others and for its reads, until it is given up. */
export const TRANSACTION_WITHIN_MS = 30_000

/**
 * One transaction on one handle: reads, decides, writes, and resolves when the browser says that it is complete.
 * Success of the single requests says nothing yet: a full disk shows when the transaction ends.
 */
export async function runTransaction<Found, Result>(
  db: IDBPDatabase<Schema>,
  timers: Timers,
  access: Access,
  stores: readonly StoreName[],
  read: (rows: Rows) => Promise<Found>,
  decide: (found: Found, rows: Rows) => Result | Promise<Result>,
): Promise<Result> {
  const tx = (
    access === 'read'
      ? db.transaction(stores as StoreName[])
      : db.transaction(stores as StoreName[], 'readwrite', { durability: access })
  ) as WritableTransaction
  tx.done.catch(() => {}) // heard of below, unless something else failed first
  const writes: Promise<unknown>[] = []
  let refused: { readonly error: unknown } | undefined
  const rows = indexedRows(tx, (write) => {
    try {
      const request = write()
      request.catch(() => {})
      writes.push(request)
    } catch (error) {
      refused ??= { error }
    }
  })
  let late = false
  const timer = timers.setTimeout(() => {
    late = abort(tx)
  }, TRANSACTION_WITHIN_MS)
  try {
    const result = await decide(await read(rows), rows)
    if (access === 'read') return result
    if (refused) throw refused.error
    tx.commit() // at once, and not when the browser notices that nothing more comes
    // The request's error is the reason; the transaction's is only that it was aborted.
    await Promise.all([...writes, tx.done])
    return result
  } catch (error) {
    abort(tx)
    throw late ? tooLate(error) : error
  } finally {
    timers.clearTimeout(timer)
  }
}

/** False if it has ended, or is committing and can no longer be stopped. */
function abort(tx: WritableTransaction): boolean {
  try {
    tx.abort()
    return true
  } catch {
    return false
  }
}

function tooLate(cause: unknown): RejoinError {
  const seconds = TRANSACTION_WITHIN_MS / 1000
  return new RejoinError('storage-unavailable', `The browser's database did not answer within ${seconds} s.`, {
    hint: 'Nothing was written. Another tab may be holding the database: close or reload it.',
    cause,
  })
}
