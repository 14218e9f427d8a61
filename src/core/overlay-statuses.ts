import type { Confirmation, ConfirmationStatus } from '../contract/session-snapshot.ts'
import { statusRank } from '../protocol/claim-status.ts'
import type { ClaimView } from '../protocol/claim-view.ts'

/** What is known of a session's confirmations where a snapshot is to be stored. */
export interface KnownStatuses {
  readonly confirmations: readonly Confirmation[]
  /** By token; a claim has the last word on its token. */
  readonly claims: Readonly<Record<string, ClaimView>>
}

/**
 * The confirmations to store for a snapshot that asks for `asked`, rule R7. A known token that is shown at an earlier
 * status keeps the known one; an unfinished token that was left out is put back. The same function on device and server.
 */
export function overlayStatuses(asked: readonly Confirmation[], known: KnownStatuses): readonly Confirmation[] {
  const stored = new Map(known.confirmations.map((confirmation) => [confirmation.token, confirmation]))
  const tokens = new Set(asked.map((confirmation) => confirmation.token))
  const shown = asked.map((confirmation) => {
    const status = knownStatus(confirmation, stored.get(confirmation.token), known.claims[confirmation.token])
    return status === confirmation.status ? confirmation : { ...confirmation, status }
  })
  const leftOut = known.confirmations
    .filter(({ token }) => !tokens.has(token))
    .map((confirmation) => {
      const status = known.claims[confirmation.token]?.status ?? confirmation.status
      return status === confirmation.status ? confirmation : { ...confirmation, status }
    })
  const unfinished = leftOut.filter((confirmation) => statusRank(confirmation.status) < 2)
  return unfinished.length === 0 ? shown : [...shown, ...unfinished]
}

function knownStatus(
  asked: Confirmation,
  stored: Confirmation | undefined,
  claim: ClaimView | undefined,
): ConfirmationStatus {
  if (claim) return claim.status
  return stored && statusRank(stored.status) > statusRank(asked.status) ? stored.status : asked.status
}
