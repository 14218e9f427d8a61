import type { Confirmation, Snapshot } from '../contract/session-snapshot.ts'
import { isOutcome, isWant, type Outcome, statusRank, type Want } from '../protocol/claim-status.ts'

export type ConfirmationMove =
  /** Out of `pending`: asks for the permission to run. */
  | { readonly kind: 'claim'; readonly confirmation: Confirmation; readonly want: Want }
  /** From processing to terminal. */
  | { readonly kind: 'settlement'; readonly confirmation: Confirmation; readonly outcome: Outcome }
  /** A token that nobody here knew, already decided: a record of the past that comes in. */
  | { readonly kind: 'import'; readonly confirmation: Confirmation; readonly outcome: Outcome }
  /** From `pending` straight to terminal: nobody asked for the permission. */
  | { readonly kind: 'unclaimed'; readonly confirmation: Confirmation; readonly outcome: Outcome }

/** What a save of `asked` over `stored` does to the confirmations. Statuses that go back are not moves, see R7. */
export function confirmationMoves(stored: Snapshot | undefined, asked: Snapshot): readonly ConfirmationMove[] {
  const known = new Map(stored?.confirmations.map((confirmation) => [confirmation.token, confirmation.status]))
  const moves: ConfirmationMove[] = []
  for (const confirmation of asked.confirmations) {
    const { token, status } = confirmation
    const before = known.get(token)
    if (status === 'pending' || (before !== undefined && statusRank(before) >= statusRank(status))) continue
    if (isWant(status)) moves.push({ kind: 'claim', confirmation, want: status })
    // A proposal that needed no confirmation is born `rejected`: nothing can run from it.
    else if (isOutcome(status) && before === undefined && status !== 'rejected')
      moves.push({ kind: 'import', confirmation, outcome: status })
    else if (isOutcome(status) && before === 'pending') moves.push({ kind: 'unclaimed', confirmation, outcome: status })
    else if (isOutcome(status) && before !== undefined)
      moves.push({ kind: 'settlement', confirmation, outcome: status })
  }
  return moves
}
