import { type IDBPDatabase, wrap } from 'idb'
import type { Timers } from '../core/environment.ts'
import { RejoinError } from '../errors.ts'
import { createPatience, type Patience } from './patience.ts'
import { createStores, SCHEMA_VERSION, type Schema } from './schema.ts'
import { closedError, isVersionError } from './storage-error.ts'

/** How long a caller waits for the browser to open a database, and for another tab that blocks the upgrade. */
export const OPEN_WITHIN_MS = 5000
export const BLOCKED_WITHIN_MS = 2000

export interface Handle {
  readonly db: IDBPDatabase<Schema>
  /** A newer version of this code wrote here: what we know of it can be read, and nothing written. */
  readonly newerSchema: boolean
}

/**
 * The one handle of a tab to its database, opened when somebody needs it and again after it was lost.
 *
 * ```
 * none ──get──► opening ──► open ──drop, release, versionchange, forced close──► none
 *                  └─ 2 s blocked, or 5 s without an answer: callers are refused, the opening goes on
 * ```
 */
export interface IndexedConnection {
  /**
   * Answers at once when it is open, so that transactions begin in the order in which they were asked for, and before
   * a page that is going away is gone. Throws or rejects with `storage-blocked`, `storage-unavailable`, `closed`, or what
   * the browser rejected with.
   */
  readonly get: () => Handle | Promise<Handle>
  /** This handle failed; the next `get` opens another. */
  readonly drop: (handle: Handle) => void
  /** Lets the handle go when its transactions are done; the next `get` opens another. */
  readonly release: () => void
  readonly close: () => void
}

interface Opening {
  readonly handle: Promise<Handle>
  readonly patience: Patience
}

export interface IndexedConnectionOptions {
  readonly factory: IDBFactory
  readonly name: string
  readonly timers: Timers
  /** Callers were refused while the opening goes on. */
  readonly onStuck: (problem: RejoinError) => void
  /** It opened after all. */
  readonly onUnstuck: () => void
}

export function createIndexedConnection(options: IndexedConnectionOptions): IndexedConnection {
  const { factory, name, timers, onStuck, onUnstuck } = options
  let current: Opening | undefined
  let open: Handle | undefined
  let closed = false

  function start(): Opening {
    let stuck = false
    const patience = createPatience(timers, (problem) => {
      stuck = true
      onStuck(problem)
    })
    patience.endIn(OPEN_WITHIN_MS, silent)
    const handle = openHandle(factory, name, () => patience.endIn(BLOCKED_WITHIN_MS, blocked))
    const opening = { handle, patience }
    handle.then(
      (opened) => {
        patience.stop()
        if (current !== opening) return opened.db.close()
        open = opened
        watch(opened)
        if (stuck && !opened.newerSchema) onUnstuck()
      },
      () => {
        patience.stop()
        if (current === opening) current = undefined
      },
    )
    return opening
  }

  function watch(handle: Handle): void {
    // Another tab wants to upgrade or delete: `close` lets our transactions finish, and the other one then goes on.
    handle.db.addEventListener('versionchange', () => drop(handle))
    // Closed by force: site data was cleared, or the disk failed.
    handle.db.addEventListener('close', () => drop(handle))
  }

  function drop(handle: Handle): void {
    if (handle === open) {
      open = undefined
      current = undefined
    }
    handle.db.close()
  }

  return {
    get() {
      if (closed) throw closedError()
      if (open) return open
      current ??= start()
      return Promise.race([current.handle, current.patience.ended])
    },
    drop,
    release() {
      if (open) drop(open)
    },
    close() {
      closed = true
      if (open) drop(open)
      current?.patience.end(closedError())
      current = undefined
    },
  }
}

async function openHandle(factory: IDBFactory, name: string, onBlocked: () => void): Promise<Handle> {
  try {
    const request = factory.open(name, SCHEMA_VERSION)
    request.addEventListener('upgradeneeded', () => createStores(request.result))
    request.addEventListener('blocked', onBlocked)
    return { db: await opened(request), newerSchema: false }
  } catch (error) {
    if (!isVersionError(error)) throw error
    return { db: await opened(factory.open(name)), newerSchema: true }
  }
}

async function opened(request: IDBOpenDBRequest): Promise<IDBPDatabase<Schema>> {
  return (await wrap(request)) as IDBPDatabase<Schema>
}

function blocked(): RejoinError {
  return new RejoinError('storage-blocked', 'Another tab of this site holds an older version of the database.', {
    hint: 'Close or reload the other tabs of this site; this one then goes on by itself.',
  })
}

function silent(): RejoinError {
  return new RejoinError('storage-unavailable', 'The browser does not answer to opening the database.', {
    hint: 'Reload the page; if that does not help, restart the browser.',
  })
}
