import type { Confirmation, ConfirmationStatus, Snapshot } from '../contract/session-snapshot.ts'
import { statusRank } from '../protocol/claim-status.ts'
import { type ClaimViews, claimView } from './claim-order.ts'

/** What is known of a session's confirmations where a snapshot is to be stored. */
export interface KnownStatuses {
  readonly confirmations: readonly Confirmation[]
  /** By token; a claim has the last word on its token. */
  readonly claims: ClaimViews
}

/**
 * The confirmations to store for a snapshot that asks for `asked`, rule R7. A known token that is not shown at a later
 * status keeps the known one; an unfinished token that was left out is put back. The same function on device and server.
 */
export function overlayStatuses(asked: readonly Confirmation[], known: KnownStatuses): readonly Confirmation[] {
  const stored = new Map(known.confirmations.map((confirmation) => [confirmation.token, confirmation]))
  const tokens = new Set(asked.map((confirmation) => confirmation.token))
  const shown = asked.map((confirmation) => {
    const status = knownStatus(
      confirmation,
      stored.get(confirmation.token),
      claimView(known.claims, confirmation.token),
    )
    return status === confirmation.status ? confirmation : { ...confirmation, status }
  })
  const leftOut = known.confirmations
    .filter(({ token }) => !tokens.has(token))
    .map((confirmation) => {
      const status = claimView(known.claims, confirmation.token)?.status ?? confirmation.status
      return status === confirmation.status ? confirmation : { ...confirmation, status }
    })
  const unfinished = leftOut.filter((confirmation) => statusRank(confirmation.status) < 2)
  return unfinished.length === 0 ? shown : [...shown, ...unfinished]
}

/**
 * What this device stores for a snapshot that a save asks for over `stored`. `moved` is the confirmation that the save
 * itself moves.
 */
export function overlayAsked(stored: Snapshot | undefined, asked: Snapshot, moved: Confirmation | undefined): Snapshot {
  if (!stored) return asked
  const known = moved ? withStatus(stored.confirmations, moved.token, moved.status) : stored.confirmations
  return { ...asked, confirmations: overlayStatuses(asked.confirmations, { confirmations: known, claims: {} }) }
}

export function withStatus(
  confirmations: readonly Confirmation[],
  token: string,
  status: ConfirmationStatus,
): readonly Confirmation[] {
  return confirmations.map((each) => (each.token === token && each.status !== status ? { ...each, status } : each))
}

function knownStatus(
  asked: Confirmation,
  stored: Confirmation | undefined,
  claim: { readonly status: ConfirmationStatus } | undefined,
): ConfirmationStatus {
  if (claim) return claim.status
  return stored && statusRank(stored.status) >= statusRank(asked.status) ? stored.status : asked.status
}
