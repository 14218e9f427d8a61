import type { DeviceChange } from '../core/device-session.ts'
import { removeUpdates } from './remove-updates.ts'
import type { Rows } from './rows.ts'
import { deleteKey } from './schema.ts'

/** Writes what a decision asked for. Synchronous except where rows must be looked at to be removed. */
export function writeChange(rows: Rows, sessionId: string, change: DeviceChange): Promise<void> | undefined {
  if (change.row) rows.putSession(change.row)
  if (change.row === null) rows.removeSession(sessionId)
  for (const claimId of change.removeClaims ?? []) rows.removeOutbox(claimId)
  for (const claim of change.putClaims ?? []) rows.putOutbox(claim)
  if (change.removeDelete !== undefined) rows.removeOutbox(deleteKey(sessionId, change.removeDelete))
  if (change.putDelete) rows.putOutbox(change.putDelete)
  if (change.removeUpdates === undefined) return undefined
  return removeIncarnations(rows, sessionId, change.removeUpdates)
}

async function removeIncarnations(rows: Rows, sessionId: string, incarnations: readonly string[]): Promise<void> {
  const found = await rows.updates(sessionId, 0, Infinity)
  removeUpdates(
    rows,
    sessionId,
    found,
    ({ incarnation }) => incarnation !== undefined && incarnations.includes(incarnation),
  )
}
