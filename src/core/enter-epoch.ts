import { type Epoch, isEarlierEpoch } from '../protocol/identity.ts'
import type { Decided, DeleteRow, DeviceSession, SessionRow } from './device-session.ts'

/**
 * The server's store was restored or replaced (rule I5): what it acknowledged or refused in the earlier epoch counts for
 * nothing.
 * The session has no base, its whole document is to be compared with the server's log, its settlements are untold, and a
 * deletion that it heard of is said again, before anything is sent. `left` stays: what left this device stays decided
 * there. A row that is in the epoch already, or in a later one, stays as it is.
 */
export function enterEpoch({ row, claims }: DeviceSession, epoch: Epoch): Decided<boolean> {
  if (!row || !isToEnter(row, epoch)) return { result: false }
  const { base: _base, sent: _sent, incoming: _incoming, refused: _refused, ...kept } = row
  const unsaid = claims.filter(({ state, told, undeliverable }) => undeliverable || (state === 'settled' && told))
  const { sessionId, incarnation, deleted } = row
  const deletion: DeleteRow | undefined = deleted && { kind: 'delete', sessionId, incarnation, deviceAt: deleted.at }
  return {
    change: {
      row: { ...kept, epoch, claims: {}, dirty: row.local !== undefined, acked: 0, pulled: 0, giveBack: true },
      putClaims: unsaid.map((claim) => ({ ...claim, told: false, undeliverable: undefined })),
      ...(deletion && { putDelete: deletion }),
    },
    result: true,
  }
}

export function isToEnter(row: SessionRow, epoch: Epoch): boolean {
  return row.epoch !== epoch && !isOver(row, epoch)
}

/**
 * True for what a server said in an epoch that was over when the row entered its own: another tab may have brought it
 * there while the answer was under way. Asked inside the transaction that would take the answer in.
 */
export function isOver(row: SessionRow, answered: Epoch): boolean {
  return row.epoch !== undefined && isEarlierEpoch(answered, row.epoch)
}
