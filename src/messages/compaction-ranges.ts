import type { UpdateRow } from '../core/device-session.ts'

/** Rows `start` up to but not `end` become one of this origin. */
export interface CompactionRange {
  readonly start: number
  readonly end: number
  readonly origin: UpdateRow['origin']
}

/** An update is sent whole, and the server refuses what is too large. */
const MAX_UNSENT_BYTES = 256 * 1024

/**
 * Which neighbouring rows may become one. What the server has (its own updates, and ours up to `acked`) is merged as the
 * server's; ours that it has not, only with each other, because they are still to be sent, and only up to a size. A row
 * that cannot be read lies between two ranges: its bytes stay where they are.
 */
export function compactionRanges(
  rows: readonly UpdateRow[],
  acked: number,
  unreadable: readonly number[] = [],
): CompactionRange[] {
  const ranges: CompactionRange[] = []
  let start = 0
  let bytes = 0
  const close = (end: number) => {
    const first = rows[start]
    if (first && end - start > 1) ranges.push({ start, end, origin: isAcknowledged(first, acked) ? 'server' : 'local' })
    start = end
    bytes = 0
  }
  rows.forEach((row, at) => {
    const before = rows[at - 1]
    if (before) {
      const apart =
        isAcknowledged(before, acked) !== isAcknowledged(row, acked) ||
        before.incarnation !== row.incarnation ||
        unreadable.some((seq) => seq > before.seq && seq < row.seq)
      const full = !isAcknowledged(row, acked) && bytes + row.bytes.length > MAX_UNSENT_BYTES
      if (apart || full) close(at)
    }
    bytes += row.bytes.length
  })
  close(rows.length)
  return ranges
}

function isAcknowledged({ origin, seq }: UpdateRow, acked: number): boolean {
  return origin === 'server' || seq <= acked
}
