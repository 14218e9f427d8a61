import type { Decided, DeleteRow, DeviceSession } from './device-session.ts'

/**
 * The server's store was restored or replaced (rule I5): what it acknowledged in the earlier epoch counts for nothing.
 * The session has no base, its whole document is to be compared with the server's log, its settlements are untold, and a
 * deletion that it heard of is said again, before anything is sent. `left` stays: what left this device stays decided
 * there.
 */
export function enterEpoch({ row, claims }: DeviceSession): Decided<boolean> {
  if (!row) return { result: false }
  const { base: _base, sent: _sent, incoming: _incoming, ...kept } = row
  const untold = claims.filter(({ state, told }) => state === 'settled' && told)
  const { sessionId, incarnation, deleted } = row
  const deletion: DeleteRow | undefined = deleted && { kind: 'delete', sessionId, incarnation, deviceAt: deleted.at }
  return {
    change: {
      row: { ...kept, claims: {}, dirty: row.local !== undefined, acked: 0, pulled: 0, giveBack: true },
      putClaims: untold.map((claim) => ({ ...claim, told: false })),
      ...(deletion && { putDelete: deletion }),
    },
    result: true,
  }
}
