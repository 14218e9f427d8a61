import { createReadStream, createWriteStream, existsSync, rmSync, statSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { RejoinError } from '../../src/errors.ts'
import type { Epoch } from '../../src/protocol/identity.ts'
import { createPrivateFile, isLocked, openSqliteFile } from './open-sqlite-file.ts'
import { type FileMoves, fileMoves, replaceDataFile } from './replace-data-file.ts'
import { restoredClaims } from './rules/restored-claims.ts'
import { openSqliteDriver, type SqliteDriver } from './sqlite-driver.ts'
import { beginEpoch, readEpoch } from './sqlite-epoch.ts'
import { createSqliteRows } from './sqlite-rows.ts'

export interface RestoreOptions {
  /** A copy of a data file, with its write-ahead log beside it if it has one; both are read, and stay as they are. */
  readonly backup: string
  /** The data file to put it to, which no server may have open. What was there is kept beside it. */
  readonly file: string
  /** Epoch ms; when the new epoch begins. */
  readonly now?: () => number
  readonly driver?: SqliteDriver['name']
}

export interface Restored {
  readonly epoch: Epoch
  /** How many confirmations are in doubt: what became of them since the backup, their devices have to say. */
  readonly doubts: number
  /** Where the file went that was there before. */
  readonly replaced?: string
}

/** SQLite's: the database, its write-ahead log, and that one's index. */
const PARTS = ['', '-wal', '-shm']

/**
 * Puts a backup in the place of a data file, rule I5: a new epoch begins, in which devices give back what the backup
 * lacks, and every confirmation that is not finished is in doubt. The file is replaced at the end, in one step; broken
 * off before that, everything is as it was, and it can be done again.
 *
 * Rejects with `storage-unavailable` if the backup is no data file of this version, or a server has `file` open.
 */
export async function restoreSqlite(
  { backup, file, now = Date.now, driver }: RestoreOptions,
  moves: FileMoves = fileMoves,
): Promise<Restored> {
  if (!existsSync(backup) || !statSync(backup).isFile()) {
    throw new RejoinError('storage-unavailable', `There is no backup ${backup}.`)
  }
  const fresh = `${file}.restoring`
  // Of a restore that was broken off: its log would be taken for the new copy's.
  removeDatabase(fresh)
  try {
    const kept = `${file}.replaced-${now()}`
    const existed = existsSync(file)
    const before = existed ? await settle(file, driver) : undefined
    await copyDatabase(backup, fresh)
    await requireDataFile(fresh, backup, driver)
    const { epoch, doubts } = await renew(fresh, driver, now, before)
    replaceDataFile({ fresh, file, kept }, moves)
    return { epoch, doubts, ...(existed && { replaced: kept }) }
  } catch (error) {
    try {
      removeDatabase(fresh)
    } catch {
      // What went wrong first is what to hear of; the next restore begins with this again.
    }
    throw error
  }
}

/**
 * Brings a data file and its log into one file, and says its epoch. A file that is damaged may be replaced, and has none
 * to say; one that a server has open may not.
 */
async function settle(file: string, prefer: SqliteDriver['name'] | undefined): Promise<Epoch | undefined> {
  try {
    const { driver, found } = await openSqliteFile(file, prefer, (each) => readEpoch(each, () => 0))
    closing(driver, () => driver.exec('PRAGMA wal_checkpoint(TRUNCATE)'))
    return found
  } catch (error) {
    if (error instanceof RejoinError && !isLocked(error.cause)) return undefined
    throw error
  }
}

/**
 * By bytes, since to open a database is to write beside it. Whoever made the backup was done with it, and whatever its
 * mode is, the copy is its owner's alone, to read and to write.
 */
async function copyDatabase(from: string, to: string): Promise<void> {
  for (const part of ['', '-wal'].filter((each) => existsSync(from + each))) {
    createPrivateFile(to + part)
    await pipeline(createReadStream(from + part), createWriteStream(to + part))
  }
}

async function requireDataFile(copy: string, backup: string, prefer: SqliteDriver['name'] | undefined): Promise<void> {
  const driver = await openSqliteDriver(copy, prefer)
  const message = `The file ${backup} is not a backup that can be used.`
  closing(driver, () => {
    try {
      const { user_version: version } = driver.prepare('PRAGMA user_version').get() ?? {}
      const { quick_check: check } = driver.prepare('PRAGMA quick_check(1)').get() ?? {}
      if (Number(version) > 0 && check === 'ok') return
    } catch (cause) {
      throw new RejoinError('storage-unavailable', message, { cause })
    }
    throw new RejoinError('storage-unavailable', message)
  })
}

async function renew(
  file: string,
  prefer: SqliteDriver['name'] | undefined,
  now: () => number,
  replaced: Epoch | undefined,
): Promise<{ epoch: Epoch; doubts: number }> {
  const { driver, found } = await openSqliteFile(file, prefer, (each) => readEpoch(each, now))
  const before = replaced === undefined ? [found] : [found, replaced]
  return closing(driver, () => {
    driver.exec('BEGIN IMMEDIATE')
    try {
      const doubts = doubtUnfinished(driver)
      const epoch = beginEpoch(driver, now(), before)
      driver.exec('COMMIT')
      driver.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      return { epoch, doubts }
    } catch (error) {
      rollBack(driver)
      throw error
    }
  })
}

function doubtUnfinished(driver: SqliteDriver): number {
  const rows = createSqliteRows(driver)
  let doubts = 0
  for (const { account, session_id } of driver.prepare('SELECT account, session_id FROM sessions').all()) {
    const scope = { account: String(account), sessionId: String(session_id), device: '' }
    const state = rows.state(scope)
    if (!state.session) continue
    const claims = restoredClaims(state.snapshot, state.session.incarnation, state.claims)
    if (claims.length > 0) rows.write(scope, state, { claims })
    doubts += claims.length
  }
  return doubts
}

/** SQLite may have rolled back already; the error that led here is the one to hear of. */
function rollBack(driver: SqliteDriver): void {
  try {
    driver.exec('ROLLBACK')
  } catch {}
}

/** Does something with a database, and closes it whatever comes of that; the first error is the one that is thrown. */
function closing<T>(driver: SqliteDriver, run: () => T): T {
  let result: T
  try {
    result = run()
  } catch (error) {
    try {
      driver.close()
    } catch {}
    throw error
  }
  driver.close()
  return result
}

function removeDatabase(file: string): void {
  for (const part of PARTS) rmSync(file + part, { force: true })
}
