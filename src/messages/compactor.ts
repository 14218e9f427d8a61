import type { Timers } from '../core/environment.ts'
import { isRejoinError } from '../errors.ts'
import type { Database } from '../storage/database.ts'
import { compact } from './compact.ts'

const MIN_ROWS = 200
/** What reading a row costs beside its bytes, in bytes. */
const ROW_COST = 512

/** Compacts one session at a time, in steps between which the page has its turn; also while a stream goes on. */
export interface Compactor {
  /** A session was read from disk. */
  readonly found: (sessionId: string, rows: readonly Uint8Array[]) => void
  readonly written: (sessionId: string, rows: readonly Uint8Array[]) => void
}

export interface CompactorOptions {
  readonly database: Database
  readonly timers: Timers
  readonly signal: AbortSignal
  readonly onProblem: (problem: Error) => void
}

export function createCompactor({ database, timers, signal, onProblem }: CompactorOptions): Compactor {
  /** What an earlier compaction left, and what came since. */
  const grown = new Map<string, { readonly settled: number; readonly rows: number; readonly bytes: number }>()
  const due = new Set<string>()
  let running = false

  async function run(): Promise<void> {
    for (const sessionId of due) {
      due.delete(sessionId)
      if (signal.aborted) return
      try {
        const { bytes } = await compact(database, sessionId, pause)
        grown.set(sessionId, { settled: bytes, rows: 0, bytes: 0 })
      } catch (error) {
        // What could not be compacted stays as it is; the next growth tries again.
        grown.delete(sessionId)
        if (!isRejoinError(error, 'closed') && error instanceof Error) onProblem(error)
      }
    }
  }

  function pause(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) reject(signal.reason)
      else timers.setTimeout(resolve, 0)
    })
  }

  function start(): void {
    if (running || due.size === 0) return
    running = true
    void pause()
      .then(run)
      .catch(() => {}) // only when everything ends
      .finally(() => {
        running = false
        if (!signal.aborted) start()
      })
  }

  function weigh(sessionId: string, settled: number, rows: number, bytes: number): void {
    grown.set(sessionId, { settled, rows, bytes })
    // In proportion to what is there: the work for each row stays the same however long the history.
    if (rows < MIN_ROWS || (rows * ROW_COST + bytes) * 4 < settled) return
    due.add(sessionId)
    start()
  }

  return {
    found(sessionId, rows) {
      const largest = rows.reduce((most, each) => Math.max(most, each.length), 0)
      weigh(sessionId, largest, rows.length, total(rows) - largest)
    },
    written(sessionId, rows) {
      const { settled, rows: count, bytes } = grown.get(sessionId) ?? { settled: 0, rows: 0, bytes: 0 }
      weigh(sessionId, settled, count + rows.length, bytes + total(rows))
    },
  }
}

function total(rows: readonly Uint8Array[]): number {
  return rows.reduce((sum, { length }) => sum + length, 0)
}
