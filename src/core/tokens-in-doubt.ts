import type { Confirmation } from '../contract/session-snapshot.ts'
import { claimView } from './claim-order.ts'
import { isForgotten } from './claim-rows.ts'
import type { DeviceSession } from './device-session.ts'

/**
 * The confirmations of which a restore lost what became of them, rule I5, and that a person may clear. Not those that
 * this device itself was given: it says so.
 */
export function tokensInDoubt(session: DeviceSession): readonly Confirmation[] {
  const { row, claims } = session
  if (!row?.local) return []
  return row.local.confirmations.filter(({ token }) => {
    const view = claimView(row.claims, token)
    if (!view?.doubt) return false
    return !claims.some(
      (claim) => claim.token === token && !claim.undeliverable && isForgotten(session, claim, undefined),
    )
  })
}
