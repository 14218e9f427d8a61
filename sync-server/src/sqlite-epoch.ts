import { randomBytes } from 'node:crypto'
import { type Epoch, epochStart } from '../../src/protocol/identity.ts'
import type { SqliteDriver } from './sqlite-driver.ts'

/** The epoch of the store in this file; a new file's begins now. */
export function readEpoch(driver: SqliteDriver, now: () => number): Epoch {
  driver.prepare("INSERT OR IGNORE INTO store (key, value) VALUES ('epoch', ?)").run(newEpoch(now()))
  return String(driver.prepare("SELECT value FROM store WHERE key = 'epoch'").get()?.value)
}

/** A new one, later than those before it also where the clock was put back: devices ignore earlier ones. */
export function beginEpoch(driver: SqliteDriver, now: number, before: readonly Epoch[]): Epoch {
  const epoch = newEpoch(Math.max(now, ...before.map((each) => epochStart(each) + 1)))
  driver.prepare("UPDATE store SET value = ? WHERE key = 'epoch'").run(epoch)
  return epoch
}

function newEpoch(startsAt: number): Epoch {
  return `${startsAt}-${randomBytes(9).toString('base64url')}`
}
