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
 * Ends early, with nothing lost, at a row that cannot be applied or where others were quicker.
 */
export async function compact(database: Database, sessionId: string, pause: () => Promise<void>): Promise<Compacted> {
  const { row } = await database.read(sessionId)
  const gaps: number[] = []
  const all = await database.updates(sessionId, { onCorrupt: (seq) => gaps.push(seq) })
  const left = { rows: all.length, bytes: total(all) }
  if (!row || row.deleted || all.some(({ incarnation }) => !isIncarnation(row, incarnation))) return left
  const ranges = compactionRanges(all, row.acked, gaps)
  if (ranges.length === 0) return left

  const scratch = new Y.Doc()
  try {
    let at = 0
    for (const { start, end, origin } of ranges) {
      at = await applyRows(scratch, all, at, start, pause)
      const before = Y.encodeStateVector(scratch)
      at = await applyRows(scratch, all, at, end, pause)
      if (scratch.store.pendingStructs || scratch.store.pendingDs) return left // something that is missing is still to come
      const rows = all.slice(start, end)
      const [first, last] = [rows[0], rows.at(-1)]
      if (!first || !last) return left
      const bytes = Y.encodeStateAsUpdate(scratch, before)
      const range = { fromSeq: first.seq, toSeq: last.seq, expectedRows: rows.length }
      const { incarnation } = last
      if (!(await database.compactUpdates(sessionId, range, { incarnation, origin, bytes }))) return left
      left.rows -= rows.length - 1
      left.bytes += bytes.length - total(rows)
      await pause()
    }
    return left
  } finally {
    scratch.destroy()
  }
}

async function applyRows(
  scratch: Y.Doc,
  rows: readonly UpdateRow[],
  from: number,
  to: number,
  pause: () => Promise<void>,
): Promise<number> {
  let at = from
  while (at < to) {
    let bytes = 0
    const step = at + STEP_ROWS
    scratch.transact(() => {
      for (; at < to && at < step && bytes < STEP_BYTES; at++) {
        const row = rows[at] as UpdateRow
        bytes += row.bytes.length
        Y.applyUpdate(scratch, row.bytes)
      }
    })
    await pause()
  }
  return at
}

function total(rows: readonly UpdateRow[]): number {
  return rows.reduce((sum, { bytes }) => sum + bytes.length, 0)
}
