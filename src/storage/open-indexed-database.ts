import { isRejoinError, RejoinError } from '../errors.ts'
import { announceMissed } from './announce-missed.ts'
import { closeOnAbort } from './close-on-abort.ts'
import { createDatabase } from './create-database.ts'
import type { Database } from './database.ts'
import type { DatabaseOptions } from './database-options.ts'
import { createIndexedConnection } from './indexed-connection.ts'
import { createIndexedEngine } from './indexed-engine.ts'
import { createProblemReporter } from './problem-reporter.ts'
import { createQuarantine } from './quarantine.ts'
import { createTabEvents } from './tab-events.ts'

/**
 * Opens one account's database in IndexedDB and makes its `meta` row if it is new.
 *
 * Resolves too when another tab blocks the upgrade for 2 s: then `onProblem` hears `storage-blocked`, calls reject with
 * it, and everything works once the other tab has let go. Rejects, after `onProblem` has heard of it, with
 * `storage-unavailable` when there is no IndexedDB, or it refuses, or it does not answer within 5 s, and with
 * `storage-corrupt` when it cannot be read; with `closed` when aborted.
 */
export async function openIndexedDatabase(options: DatabaseOptions): Promise<Database> {
  const { environment, names, identity, signal, onProblem = () => {}, onCorrupt } = options
  const { timers, lifecycle, indexedDB: factory } = environment
  const problems = createProblemReporter(onProblem)
  if (!factory) {
    const problem = absent()
    problems.failed(problem)
    throw problem
  }
  const connection = createIndexedConnection({
    factory,
    name: names.database,
    timers,
    onStuck: problems.failed,
    onUnstuck: () => problems.worked('strict'),
  })
  const events = createTabEvents(() => environment.openChannel(names.channel('rows')))
  const database = createDatabase({
    engine: createIndexedEngine({ connection, timers, problems }),
    quarantine: createQuarantine(onCorrupt),
    events,
    identity,
    newId: environment.newId,
  })

  let hidden = false
  const listening = [
    lifecycle.on('pagehide', () => {
      hidden = true
      connection.release()
      events.pause()
    }),
    lifecycle.on('pageshow', () => {
      if (!hidden) return
      hidden = false
      events.resume()
      announceMissed(database, events).catch(() => {}) // `onProblem` has heard of it
    }),
  ]
  const closable = await closeOnAbort(database, signal, () => {
    for (const stop of listening) stop()
  })
  try {
    await closable.meta()
    return closable
  } catch (error) {
    if (isRejoinError(error, 'storage-blocked')) return closable
    if (isRejoinError(error) && error.code !== 'closed') problems.failed(error)
    await closable.close()
    throw error
  }
}

function absent(): RejoinError {
  return new RejoinError('storage-unavailable', 'This browser gives the page no IndexedDB.', {
    hint: 'Leave private browsing, or allow this site to store data.',
  })
}
