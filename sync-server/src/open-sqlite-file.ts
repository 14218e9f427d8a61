import { closeSync, mkdirSync, openSync } from 'node:fs'
import path from 'node:path'
import { RejoinError } from '../../src/errors.ts'
import { openSqliteDriver, type SqliteDriver } from './sqlite-driver.ts'
import { migrate } from './sqlite-schema.ts'

/**
 * Opens a data file for this process alone, and brings it to this version. `read` takes what is needed at once, so that
 * a file that cannot be used is found out here. Rejects with `storage-unavailable`, and leaves nothing open.
 */
export async function openSqliteFile<T>(
  file: string,
  prefer: SqliteDriver['name'] | undefined,
  read: (driver: SqliteDriver) => T,
): Promise<{ readonly driver: SqliteDriver; readonly found: T }> {
  if (file !== ':memory:') createPrivateFile(file)
  const driver = await openSqliteDriver(file, prefer)
  try {
    // One process owns the file: another one would not hear of its commits, and its devices would go stale unnoticed.
    driver.exec(
      'PRAGMA busy_timeout = 2000; PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;',
    )
    migrate(driver)
    return { driver, found: read(driver) }
  } catch (cause) {
    driver.close()
    if (cause instanceof RejoinError) throw cause
    if (isLocked(cause)) {
      throw new RejoinError('storage-unavailable', `Another process has ${file} open.`, {
        hint: 'Stop the other rejoin-server, or give this one a data file of its own.',
        cause,
      })
    }
    throw new RejoinError('storage-unavailable', `The file ${file} is not a database that can be used.`, { cause })
  }
}

/** Another process has the file open. */
export function isLocked(error: unknown): boolean {
  return error instanceof Error && /database is locked/i.test(error.message)
}

/** Only its owner may read it; SQLite gives its WAL file the same mode. */
export function createPrivateFile(file: string): void {
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
    closeSync(openSync(file, 'a', 0o600))
  } catch (cause) {
    throw new RejoinError('storage-unavailable', `The database ${file} cannot be created.`, {
      hint: 'Check the path and its permissions.',
      cause,
    })
  }
}
