import type { UpdateRow } from '../core/device-session.ts'
import type { Rows } from './rows.ts'

/** Removes the rows that are `unwanted` of all that were `found` in a range of `seq`; what is between them stays. */
export function removeUpdates(
  rows: Rows,
  sessionId: string,
  found: readonly unknown[],
  unwanted: (row: Partial<UpdateRow>) => boolean,
): void {
  const seqs = (found as readonly UpdateRow[]).filter(unwanted).map((row) => row.seq)
  const first = seqs[0]
  const last = seqs.at(-1)
  if (first === undefined || last === undefined) return
  if (seqs.length === found.length) rows.removeUpdates(sessionId, first, last)
  else for (const seq of seqs) rows.removeUpdates(sessionId, seq, seq)
}
