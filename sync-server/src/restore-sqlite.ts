import { existsSync, renameSync, rmSync, statSync } from 'node:fs'
import { RejoinError } from '../../src/errors.ts'
import type { Epoch } from '../../src/protocol/identity.ts'
import { createPrivateFile, isLocked, openSqliteFile } from './open-sqlite-file.ts'
import { restoredClaims } from './rules/restored-claims.ts'
import { openSqliteDriver, type SqliteDriver } from './sqlite-driver.ts'
import { beginEpoch, readEpoch } from './sqlite-epoch.ts'
import { createSqliteRows } from './sqlite-rows.ts'

export interface RestoreOptions {
  /** A copy of a data file; it is read, and stays as it is. */
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
 * lacks, and every confirmation that is not finished is in doubt. The file is replaced at the end, in one step.
 *
 * Rejects with `storage-unavailable` if the backup is no data file of this version, or a server has `file` open.
 */
export async function restoreSqlite({ backup, file, now = Date.now, driver }: RestoreOptions): Promise<Restored> {
  if (!existsSync(backup) || !statSync(backup).isFile()) {
    throw new RejoinError('storage-unavailable', `There is no backup ${backup}.`)
  }
  const replaced = existsSync(file) ? `${file}.replaced-${now()}` : undefined
  const before = replaced === undefined ? undefined : await readEpochOf(file, driver)
  const fresh = `${file}.restoring`
  rmSync(fresh, { force: true })
  try {
    createPrivateFile(fresh)
    await copyDatabase(backup, fresh, driver)
    const opened = await openSqliteFile(fresh, driver, (each) => readEpoch(each, now))
    const { epoch, doubts } = renew(opened.driver, now(), [opened.found, ...(before === undefined ? [] : [before])])
    opened.driver.close()
    // With what lies beside it: a write-ahead log that is left behind would be taken for the new file's.
    for (const part of replaced === undefined ? [] : PARTS.filter((each) => existsSync(file + each))) {
      renameSync(file + part, replaced + part)
    }
    renameSync(fresh, file)
    return { epoch, doubts, ...(replaced !== undefined && { replaced }) }
  } catch (error) {
    for (const part of PARTS) rmSync(fresh + part, { force: true })
    throw error
  }
}

/** A file that is damaged may be replaced; one that a server has open may not. */
async function readEpochOf(file: string, prefer: SqliteDriver['name'] | undefined): Promise<Epoch | undefined> {
  try {
    const { driver, found } = await openSqliteFile(file, prefer, (each) => readEpoch(each, () => 0))
    driver.close()
    return found
  } catch (error) {
    if (error instanceof RejoinError && !isLocked(error.cause)) return undefined
    throw error
  }
}

/** By SQLite and not by bytes: a write-ahead log that lies beside the backup belongs to it. */
async function copyDatabase(from: string, to: string, prefer: SqliteDriver['name'] | undefined): Promise<void> {
  const driver = await openSqliteDriver(from, prefer)
  try {
    driver.prepare('VACUUM INTO ?').run(to)
  } catch (cause) {
    throw new RejoinError('storage-unavailable', `The file ${from} is not a backup that can be used.`, { cause })
  } finally {
    driver.close()
  }
}

function renew(driver: SqliteDriver, now: number, before: readonly Epoch[]): { epoch: Epoch; doubts: number } {
  const rows = createSqliteRows(driver)
  const sessions = driver.prepare('SELECT account, session_id FROM sessions').all()
  let doubts = 0
  driver.exec('BEGIN IMMEDIATE')
  for (const { account, session_id } of sessions) {
    const scope = { account: String(account), sessionId: String(session_id), device: '' }
    const state = rows.state(scope)
    if (!state.session) continue
    const claims = restoredClaims(state.snapshot, state.session.incarnation, state.claims)
    if (claims.length > 0) rows.write(scope, state, { claims })
    doubts += claims.length
  }
  const epoch = beginEpoch(driver, now, before)
  driver.exec('COMMIT')
  return { epoch, doubts }
}
