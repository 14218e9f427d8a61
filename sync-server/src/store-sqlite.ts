import { RejoinError } from '../../src/errors.ts'
import { openSqliteFile } from './open-sqlite-file.ts'
import type { Decided } from './rules/session-state.ts'
import type { SqliteDriver } from './sqlite-driver.ts'
import { readEpoch } from './sqlite-epoch.ts'
import { createSqliteRows } from './sqlite-rows.ts'
import type { DecisionScope, Store, StoredState } from './store.ts'

export interface SqliteStoreOptions {
  /** The database file; it and its folder are made if they are missing. `:memory:` for one that ends with the process. */
  readonly file: string
  /** Epoch ms; when a new store's epoch begins. */
  readonly now?: () => number
  readonly driver?: SqliteDriver['name']
  /** Told after each commit how many decisions it made durable. */
  readonly onCommit?: (decisions: number) => void
}

interface Job {
  readonly run: () => void
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

const MAX_BATCH = 256

/**
 * A {@link Store} in one SQLite file, in WAL mode with `synchronous = FULL`.
 *
 * Decisions that arrive while a commit is under way share the next one: a commit blocks this thread in `fsync`, requests
 * gather in the sockets meanwhile, and the event loop hands all of them over before the next batch is taken. Each
 * decision stands alone in its batch: one that throws is undone to where it began.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { file, now = Date.now, onCommit } = options
  const { driver, found: epoch } = await openSqliteFile(file, options.driver, (each) => readEpoch(each, now))
  const rows = createSqliteRows(driver)
  const begin = driver.prepare('BEGIN IMMEDIATE')
  const commit = driver.prepare('COMMIT')
  let queue: Job[] = []
  let scheduled: NodeJS.Immediate | undefined
  let closed = false

  function decide<T>(scope: DecisionScope, decision: (state: StoredState) => Decided<T>): Promise<T> {
    if (closed) return Promise.reject(closedError())
    return new Promise((resolve, reject) => {
      let decided: Decided<T>
      queue.push({
        run: () => {
          const state = rows.state(scope)
          decided = decision(state)
          const { change } = decided
          if (change) inSavepoint(driver, () => rows.write(scope, state, change))
        },
        resolve: () => resolve(decided.result),
        reject,
      })
      // Not at once and not in a microtask: the sockets that have something to say are heard first.
      scheduled ??= setImmediate(commitBatch)
    })
  }

  function commitBatch(): void {
    scheduled = undefined
    const batch = queue.slice(0, MAX_BATCH)
    queue = queue.slice(MAX_BATCH)
    if (queue.length > 0) scheduled = setImmediate(commitBatch)
    const answers: (() => void)[] = []
    let decided = 0
    try {
      begin.run()
      for (const job of batch) {
        try {
          job.run()
          answers.push(job.resolve)
          decided++
        } catch (error) {
          if (error instanceof TransactionLostError) throw error
          answers.push(() => job.reject(error))
        }
      }
      commit.run()
    } catch (cause) {
      rollback(driver)
      const error = new RejoinError('storage-unavailable', 'The database could not commit.', { cause })
      for (const job of batch) job.reject(error)
      return
    }
    onCommit?.(decided)
    for (const answer of answers) answer()
  }

  /** Reads stand between the batches, so that they never see what is not committed. */
  async function read<T>(run: () => T): Promise<T> {
    if (closed) throw closedError()
    return run()
  }

  return {
    epoch,
    decide,
    updates: (key, after, maxBytes) => read(() => rows.updates(key, after, maxBytes)),
    feed: (account, since, maxItems) => read(() => rows.feed(account, since, maxItems)),
    close: async () => {
      if (closed) return
      closed = true
      clearImmediate(scheduled)
      while (queue.length > 0) commitBatch()
      clearImmediate(scheduled)
      driver.close()
    },
  }
}

/** SQLite gave the whole transaction up, as it does when the disk is full: nothing of the batch can be kept. */
class TransactionLostError extends Error {}

function inSavepoint(driver: SqliteDriver, write: () => void): void {
  driver.exec('SAVEPOINT decision')
  try {
    write()
    driver.exec('RELEASE decision')
  } catch (error) {
    try {
      driver.exec('ROLLBACK TO decision; RELEASE decision')
    } catch {
      throw new TransactionLostError('The transaction was given up.', { cause: error })
    }
    throw error
  }
}

function rollback(driver: SqliteDriver): void {
  try {
    driver.exec('ROLLBACK')
  } catch {
    // There was no transaction left to roll back.
  }
}

function closedError(): RejoinError {
  return new RejoinError('closed', 'The store is closed.')
}
