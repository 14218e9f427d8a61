import type { Confirmation } from '../contract/session-snapshot.ts'
import { isOutcome } from '../protocol/claim-status.ts'

/** Above this many, settled confirmations make room; the envelope's own bound is 1000. */
export const CONFIRMATIONS_KEPT = 900

/**
 * Makes room: above 900 the terminal confirmations go first, oldest `(expiresAt, token)` first. Unfinished ones always
 * stay, so the result may still be above the bound. Device and server prune by this one function, so they agree.
 * Returns the same array when nothing goes.
 */
export function pruneConfirmations(confirmations: readonly Confirmation[]): readonly Confirmation[] {
  const excess = confirmations.length - CONFIRMATIONS_KEPT
  if (excess <= 0) return confirmations
  const settled = confirmations.filter((each) => isOutcome(each.status)).sort(byAge)
  if (settled.length === 0) return confirmations
  const gone = new Set(settled.slice(0, excess).map((each) => each.token))
  return confirmations.filter((each) => !gone.has(each.token))
}

/** Code-unit order, not locale order: it has to be the same everywhere. */
function byAge(a: Confirmation, b: Confirmation): number {
  if (a.expiresAt !== b.expiresAt) return a.expiresAt - b.expiresAt
  return a.token < b.token ? -1 : a.token > b.token ? 1 : 0
}
