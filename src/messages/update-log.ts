import type { UpdateRow } from '../core/device-session.ts'
import type { Timers } from '../core/environment.ts'
import { isRejoinError } from '../errors.ts'

/** Waits before what could not be written is tried again; the last one repeats. New updates wait with the old ones. */
const RETRY_DELAYS_MS = [250, 500, 1000, 2000, 4000]
const MAX_BATCH_ROWS = 1000

/**
 * A document's way to disk. What one turn of the event loop brings is one transaction; while one is under way, the rest
 * gathers for the next. What cannot be written stays here, in order, and is tried again.
 */
export interface UpdateLog {
  readonly append: (bytes: Uint8Array, origin: UpdateRow['origin']) => void
  /** Resolves when everything appended so far is committed; rejects when the attempt that would have done it failed. */
  readonly flush: () => Promise<void>
  readonly isEmpty: () => boolean
  /** Nothing is written any more; what waits is rejected with `reason`. */
  readonly end: (reason: Error) => void
}

export interface UpdateLogOptions {
  /** One transaction; resolves when it is complete. */
  readonly write: (origin: UpdateRow['origin'], bytes: readonly Uint8Array[]) => Promise<void>
  readonly timers: Timers
  /** The last attempt's outcome: what went wrong, or undefined when all is well again. */
  readonly onOutcome: (problem: Error | undefined) => void
}

export function createUpdateLog({ write, timers, onOutcome }: UpdateLogOptions): UpdateLog {
  const queue: { readonly bytes: Uint8Array; readonly origin: UpdateRow['origin'] }[] = []
  let appended = 0
  let waiters: { readonly upTo: number; readonly resolve: () => void; readonly reject: (error: Error) => void }[] = []
  let writing = false
  let failures = 0
  let retry: unknown
  let ended: Error | undefined

  function schedule(): void {
    if (writing || retry !== undefined || ended) return
    writing = true
    void Promise.resolve().then(drain)
  }

  async function drain(): Promise<void> {
    try {
      while (queue.length > 0 && !ended) {
        const batch = nextBatch()
        await write(batch.origin, batch.bytes)
        queue.splice(0, batch.bytes.length)
        settle()
      }
      writing = false
      if (failures > 0 && !ended) onOutcome(undefined)
      failures = 0
    } catch (cause) {
      writing = false
      fail(cause instanceof Error ? cause : new Error(String(cause)))
    }
  }

  /** The rows of one transaction have one origin, and keep their order. */
  function nextBatch(): { origin: UpdateRow['origin']; bytes: Uint8Array[] } {
    const origin = queue[0]?.origin ?? 'local'
    const other = queue.findIndex((row, index) => row.origin !== origin || index === MAX_BATCH_ROWS)
    return { origin, bytes: queue.slice(0, other < 0 ? queue.length : other).map(({ bytes }) => bytes) }
  }

  function settle(): void {
    const committed = appended - queue.length
    const done = waiters.filter(({ upTo }) => upTo <= committed)
    waiters = waiters.filter(({ upTo }) => upTo > committed)
    for (const { resolve } of done) resolve()
  }

  function rejectAll(error: Error): void {
    const failed = waiters
    waiters = []
    for (const { reject } of failed) reject(error)
  }

  function fail(error: Error): void {
    if (ended) return
    onOutcome(error)
    rejectAll(error)
    if (isRejoinError(error, 'closed')) return
    const delayMs = RETRY_DELAYS_MS[Math.min(failures++, RETRY_DELAYS_MS.length - 1)] ?? 0
    retry = timers.setTimeout(() => {
      retry = undefined
      schedule()
    }, delayMs)
  }

  return {
    append(bytes, origin) {
      if (ended) return
      queue.push({ bytes, origin })
      appended++
      schedule()
    },
    flush() {
      if (ended) return Promise.reject(ended)
      if (queue.length === 0) return Promise.resolve()
      schedule()
      const upTo = appended
      return new Promise((resolve, reject) => {
        waiters.push({ upTo, resolve, reject })
      })
    },
    isEmpty: () => queue.length === 0,
    end(reason) {
      if (ended) return
      ended = reason
      timers.clearTimeout(retry)
      queue.length = 0
      rejectAll(reason)
    },
  }
}
