import * as Y from 'yjs'
import type { UpdateRow } from '../core/device-session.ts'
import { isIncarnation } from '../core/save-snapshot.ts'
import type { Database } from '../storage/database.ts'
import { compactionRanges } from './compaction-ranges.ts'

/** So much is applied before the page gets its turn again. */
const STEP_BYTES = 64 * 1024
const STEP_ROWS = 200

export interface Compacted {
  /** What is left on disk. */
  readonly rows: number
  readonly bytes: number
}

/**
 * Replaces the update rows of a session by fewer that say the same, range by range, each in one transaction that finds
 * exactly the rows that it read. What was acknowledged is never merged with what was not. A range is applied to a scratch
 * document and encoded from there, which also forgets deleted text; merging updates as such would be quadratic.
 *
 * A row that cannot be read or applied stays as it is. Ends early, with nothing lost, where others were quicker, or where
 * something is missing that is still to come.
 */
export async function compact(
  database: Database,
  sessionId: string,
  pause: () => Promise<void>,
  unreadable: readonly number[] = [],
): Promise<Compacted> {
  const gaps = [...unreadable]
  const { row } = await database.read(sessionId)
  const found = await database.updates(sessionId, { onCorrupt: (seq) => gaps.push(seq) })
  const rows = found.filter(({ seq }) => !gaps.includes(seq))
  const left = { rows: found.length, bytes: total(found) }
  if (!row || row.deleted || rows.some(({ incarnation }) => !isIncarnation(row, incarnation))) return left

  const scratch = new Y.Doc()
  try {
    let at = 0
    for (const { start, end, origin } of compactionRanges(rows, row.acked, gaps)) {
      let before: Uint8Array | undefined
      for (const stop of [start, end]) {
        before = Y.encodeStateVector(scratch)
        while (at < stop) {
          const step = applyStep(scratch, rows, at, stop)
          if (step.failed) return compact(database, sessionId, pause, [...gaps, step.failed.seq])
          at = step.at
          await pause()
        }
      }
      if (scratch.store.pendingStructs || scratch.store.pendingDs) return left
      const [first, last] = [rows[start] as UpdateRow, rows[end - 1] as UpdateRow]
      const bytes = Y.encodeStateAsUpdate(scratch, before)
      const range = { fromSeq: first.seq, toSeq: last.seq, expectedRows: end - start }
      const replaced = { incarnation: last.incarnation, origin, bytes }
      if (!(await database.compactUpdates(sessionId, range, replaced))) return left
      left.rows -= end - start - 1
      left.bytes += bytes.length - total(rows.slice(start, end))
    }
    return left
  } finally {
    scratch.destroy()
  }
}

function applyStep(
  scratch: Y.Doc,
  rows: readonly UpdateRow[],
  from: number,
  to: number,
): { readonly at: number; readonly failed?: UpdateRow } {
  let at = from
  let failed: UpdateRow | undefined
  scratch.transact(() => {
    for (let bytes = 0; at < to && at - from < STEP_ROWS && bytes < STEP_BYTES; at++) {
      const row = rows[at] as UpdateRow
      try {
        Y.applyUpdate(scratch, row.bytes)
      } catch {
        failed = row
        return
      }
      bytes += row.bytes.length
    }
  })
  return failed ? { at, failed } : { at }
}

function total(rows: readonly UpdateRow[]): number {
  return rows.reduce((sum, { bytes }) => sum + bytes.length, 0)
}
