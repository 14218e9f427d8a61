import { isRejoinError } from '../errors.ts'
import type { Database } from './database.ts'
import type { DatabaseOptions } from './database-options.ts'
import { openMemoryDatabase } from './memory-database.ts'
import { openIndexedDatabase } from './open-indexed-database.ts'

/**
 * The device's database: in IndexedDB, or, where the browser gives none, in memory. Then it is not `persistent`, and
 * `onProblem` has heard why. Rejects only with `closed`, when aborted.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  try {
    return await openIndexedDatabase(options)
  } catch (error) {
    if (isRejoinError(error, 'closed')) throw error
    return openMemoryDatabase(options)
  }
}
