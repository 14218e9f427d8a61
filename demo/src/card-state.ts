import type { ToolCall } from '@agentskit/core'
import type { ActionConfirmation, ClaimInfo } from 'rejoin'

type Want = NonNullable<ClaimInfo['want']>

/** What a confirmation card says. */
export type CardState =
  /** The call is here, its record is not yet. */
  | { readonly kind: 'arriving' }
  | { readonly kind: 'pending'; readonly expiresAt: number; readonly refused: string | undefined }
  /** Its time is over and nobody decided. */
  | { readonly kind: 'overdue' }
  /** Decided here, and the server does not know it yet. Without a `claimId` it cannot be taken back any more. */
  | { readonly kind: 'queued'; readonly want: Want; readonly claimId: string | undefined }
  | { readonly kind: 'running'; readonly want: Want; readonly elsewhere: string | undefined }
  | {
      readonly kind: 'decided'
      readonly outcome: 'approved' | 'rejected'
      readonly here: boolean
      /** The label of the other device, if it was one that is known. */
      readonly elsewhere: string | undefined
      /** What this device decided too, and came second. */
      readonly lost: Want | undefined
    }
  | { readonly kind: 'expired'; readonly lost: Want | undefined }
  /** It is not known whether it ran. */
  | { readonly kind: 'attention'; readonly want: Want; readonly claimId: string }

export interface CardInput {
  readonly call: ToolCall
  readonly record: ActionConfirmation | undefined
  /** Who decided on it, and how far that is. */
  readonly claim: ClaimInfo | undefined
  /** Epoch ms by the server's clock, as far as it is known. */
  readonly now: number
}

export function cardState({ call, record, claim, now }: CardInput): CardState {
  if (!record) return withoutRecord(call)
  const { state, want, claimId } = claim ?? {}
  const elsewhere = claim?.device === undefined || claim.mine ? undefined : (claim.label ?? 'another device')
  const lost = state === 'lost' || state === 'expired' || state === 'taken-over' ? want : undefined
  if (state === 'attention' && want && claimId) return { kind: 'attention', want, claimId }
  switch (record.status) {
    case 'approved':
    case 'rejected':
      return { kind: 'decided', outcome: record.status, here: claim?.mine ?? false, elsewhere, lost }
    case 'expired':
      return { kind: 'expired', lost }
    case 'approving':
    case 'rejecting':
    case 'expiring':
      return { kind: 'running', want: record.status, elsewhere }
    case 'pending':
      if ((state === 'won' || state === 'running') && want) return { kind: 'running', want, elsewhere }
      if (state === 'waiting' && want) return { kind: 'queued', want, claimId }
      if (state === 'sent' && want) return { kind: 'queued', want, claimId: undefined }
      if (record.queued) return { kind: 'queued', want: record.queued, claimId: undefined }
      if (now >= record.expiresAt) return { kind: 'overdue' }
      return {
        kind: 'pending',
        expiresAt: record.expiresAt,
        refused: state === 'refused' ? claim?.problem?.message : undefined,
      }
  }
}

/** Old records are pruned; the call still knows how it ended. */
function withoutRecord({ status }: ToolCall): CardState {
  if (status === 'requires_confirmation' || status === 'pending') return { kind: 'arriving' }
  if (status === 'running') return { kind: 'running', want: 'approving', elsewhere: undefined }
  const outcome = status === 'complete' ? 'approved' : 'rejected'
  return { kind: 'decided', outcome, here: false, elsewhere: undefined, lost: undefined }
}
