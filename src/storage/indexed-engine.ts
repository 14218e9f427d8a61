import type { Timers } from '../core/environment.ts'
import { RejoinError } from '../errors.ts'
import type { IndexedConnection } from './indexed-connection.ts'
import type { ProblemReporter } from './problem-reporter.ts'
import type { Access, Engine } from './rows.ts'
import { runTransaction } from './run-transaction.ts'
import { isDeadHandle, toStorageError } from './storage-error.ts'

/** Waits before a lost handle is opened again. After the last, the caller hears of it; the next caller begins anew. */
export const REOPEN_DELAYS_MS = [0, 50, 200, 600]

export interface IndexedEngineOptions {
  readonly connection: IndexedConnection
  readonly timers: Timers
  readonly problems: ProblemReporter
}

export function createIndexedEngine({ connection, timers, problems }: IndexedEngineOptions): Engine {
  const underWay = new Set<Promise<unknown>>()
  const closing = new AbortController()

  const transaction: Engine['transaction'] = async (access, stores, read, decide) => {
    let decided = false
    let objection: { readonly error: unknown } | undefined
    const decideOnce: typeof decide = (found, rows) => {
      decided = true
      try {
        return decide(found, rows)
      } catch (error) {
        objection = { error }
        throw error
      }
    }

    for (let attempt = 0; ; attempt++) {
      try {
        const found = connection.get()
        const handle = found instanceof Promise ? await found : found
        if (handle.newerSchema) refuse(access)
        try {
          const result = await runTransaction(handle.db, timers, access, stores, read, decideOnce)
          if (!handle.newerSchema) problems.worked(access)
          return result
        } catch (error) {
          if (!objection && isDeadHandle(error)) connection.drop(handle)
          throw error
        }
      } catch (error) {
        if (objection) throw objection.error
        const delayMs = REOPEN_DELAYS_MS[attempt]
        // After the decision only its maker can repeat it: what it stood on may have changed.
        if (decided || !isDeadHandle(error) || delayMs === undefined) throw reported(error)
        await pause(delayMs)
      }
    }
  }

  function refuse(access: Access): void {
    const problem = newerSchema()
    problems.failed(problem)
    if (access !== 'read') throw problem
  }

  function reported(error: unknown): RejoinError {
    const problem = toStorageError(error)
    if (problem.code !== 'closed' && problem.code !== 'storage-corrupt') problems.failed(problem)
    return problem
  }

  /** Ends early when the engine closes. */
  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        timers.clearTimeout(timer)
        closing.signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = timers.setTimeout(end, ms)
      closing.signal.addEventListener('abort', end)
    })
  }

  return {
    persistent: true,
    transaction(...args) {
      const running = transaction(...args)
      underWay.add(running)
      const settle = () => underWay.delete(running)
      running.then(settle, settle)
      return running
    },
    async close() {
      connection.close()
      closing.abort()
      await Promise.allSettled(underWay)
    },
  }
}

function newerSchema(): RejoinError {
  return new RejoinError('storage-unavailable', 'A newer version of this page wrote this database.', {
    hint: 'Reload the page to get the newer version; until then the stored sessions can be read and not changed.',
  })
}
