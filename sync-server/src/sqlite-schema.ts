import { RejoinError } from '../../src/errors.ts'
import type { SqliteDriver } from './sqlite-driver.ts'

/** Each entry takes the file one version further; an entry that was released is never changed. */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE store (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE feeds (
    account TEXT PRIMARY KEY, head INTEGER NOT NULL, floor INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE sessions (
    account TEXT NOT NULL, session_id TEXT NOT NULL, incarnation TEXT NOT NULL,
    cursor INTEGER NOT NULL, write_id TEXT NOT NULL, initial TEXT,
    head INTEGER NOT NULL, bytes INTEGER NOT NULL, feed_seq INTEGER NOT NULL,
    PRIMARY KEY (account, session_id)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX sessions_by_feed ON sessions (account, feed_seq);

  -- Apart from its session, so that an update of the log does not write the snapshot again.
  CREATE TABLE snapshots (
    account TEXT NOT NULL, session_id TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (account, session_id)
  ) STRICT;

  CREATE TABLE device_writes (
    account TEXT NOT NULL, session_id TEXT NOT NULL, device TEXT NOT NULL,
    incarnation TEXT NOT NULL, write_id TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (account, session_id, device)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE claims (
    account TEXT NOT NULL, session_id TEXT NOT NULL, token TEXT NOT NULL, incarnation TEXT NOT NULL,
    status TEXT NOT NULL, attempt INTEGER NOT NULL, doubt INTEGER NOT NULL,
    claim_id TEXT, device TEXT, label TEXT, sub TEXT, at INTEGER, settled_at INTEGER,
    tool_call_id TEXT NOT NULL, confirmation TEXT NOT NULL, evidence TEXT NOT NULL,
    PRIMARY KEY (account, session_id, token)
  ) STRICT;

  CREATE TABLE turns (
    account TEXT NOT NULL, session_id TEXT NOT NULL, turn_id TEXT NOT NULL,
    device TEXT NOT NULL, expires_at INTEGER NOT NULL, outcome TEXT,
    PRIMARY KEY (account, session_id, turn_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX turns_by_expiry ON turns (account, session_id, expires_at) WHERE outcome IS NULL;

  CREATE TABLE updates (
    account TEXT NOT NULL, session_id TEXT NOT NULL, incarnation TEXT NOT NULL, seq INTEGER NOT NULL,
    device TEXT NOT NULL, at INTEGER NOT NULL, bytes BLOB NOT NULL,
    PRIMARY KEY (account, session_id, incarnation, seq)
  ) STRICT;

  CREATE TABLE tombstones (
    account TEXT NOT NULL, session_id TEXT NOT NULL, incarnation TEXT NOT NULL,
    sub TEXT NOT NULL, at INTEGER NOT NULL, feed_seq INTEGER NOT NULL,
    PRIMARY KEY (account, session_id, incarnation)
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX tombstones_by_feed ON tombstones (account, feed_seq);
  `,
]

/**
 * Brings the file to this version, in one transaction. Throws `storage-unavailable` for a file that a newer version has
 * written, and leaves it as it is.
 */
export function migrate(driver: SqliteDriver): void {
  const version = Number(driver.prepare('PRAGMA user_version').get()?.user_version ?? 0)
  if (version > MIGRATIONS.length) {
    throw new RejoinError('storage-unavailable', `The database is at version ${version}, newer than this server.`, {
      hint: 'Start the newer rejoin-server, or restore a backup of this version.',
    })
  }
  if (version === MIGRATIONS.length) return
  driver.exec('BEGIN IMMEDIATE')
  try {
    for (const migration of MIGRATIONS.slice(version)) driver.exec(migration)
    driver.exec(`PRAGMA user_version = ${MIGRATIONS.length}`)
    driver.exec('COMMIT')
  } catch (error) {
    driver.exec('ROLLBACK')
    throw error
  }
}
