import type { DeviceSession } from '../core/device-session.ts'
import { isIncarnation } from '../core/save-snapshot.ts'
import type { Incarnation } from '../protocol/identity.ts'

/** What an open document stands on: an incarnation of its session, and whether a row of it was ever seen. */
export interface Standing {
  readonly incarnation: Incarnation
  readonly stored: boolean
}

/**
 * Where the document stands over what is stored now; undefined when its session is over (I3): deleted here, deleted by
 * somebody else, or made anew under another incarnation. A document that never had a row takes the one that is there,
 * and a row that took the server's incarnation is still the same session (I2).
 */
export function standOn(standing: Standing, { row, deletes }: DeviceSession): Standing | undefined {
  if (!row) return standing.stored ? undefined : standing
  if (row.deleted || deletes.some(({ incarnation }) => isIncarnation(row, incarnation))) return undefined
  if (standing.stored && !isIncarnation(row, standing.incarnation)) return undefined
  return { incarnation: row.incarnation, stored: true }
}
