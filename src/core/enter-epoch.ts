import type { Decided, DeviceSession } from './device-session.ts'

/**
 * The server's store was restored or replaced (rule I5): what it acknowledged in the earlier epoch counts for nothing, so
 * the session has no base, all of its updates are unsent, and its own decisions undelivered. `left` stays: what left this
 * device stays decided there.
 */
export function enterEpoch({ row }: DeviceSession): Decided<boolean> {
  if (!row) return { result: false }
  const { base: _base, sent: _sent, incoming: _incoming, ...kept } = row
  return { change: { row: { ...kept, claims: {}, dirty: row.local !== undefined, acked: 0, pulled: 0 } }, result: true }
}
