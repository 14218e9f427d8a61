import type { ToolCall } from '@agentskit/core'
import type { ActionConfirmation, ClaimInfo } from 'rejoin'

type Want = ClaimInfo['want']

/** What a confirmation card says. */
export type CardState =
  /** The call is here, its record is not yet. */
  | { readonly kind: 'arriving' }
  | { readonly kind: 'pending'; readonly expiresAt: number; readonly refused?: string }
  /** Its time is over and nobody decided. */
  | { readonly kind: 'overdue' }
  | { readonly kind: 'queued'; readonly want: Want; readonly sent: boolean }
  | { readonly kind: 'running'; readonly want: Want; readonly elsewhere: string | undefined }
  | {
      readonly kind: 'decided'
      readonly outcome: 'approved' | 'rejected'
      /** The label of the other device, if it was one. */
      readonly elsewhere: string | undefined
      readonly here: boolean
      /** This device decided too, and came second. */
      readonly lost: Want | undefined
    }
  | { readonly kind: 'expired'; readonly lost: Want | undefined }
  | { readonly kind: 'attention'; readonly want: Want }

export interface CardInput {
  readonly call: ToolCall
  readonly record: ActionConfirmation | undefined
  /** All claims on the record's token. */
  readonly claims: readonly ClaimInfo[]
  /** Epoch ms by the server's clock, as far as it is known. */
  readonly now: number
}

const OTHER_DEVICE = 'another device'

export function cardState({ call, record, claims, now }: CardInput): CardState {
  if (!record) return withoutRecord(call)
  const mine = claims.find((claim) => claim.mine)
  const other = claims.find((claim) => !claim.mine)
  const elsewhere = other && (other.label ?? OTHER_DEVICE)
  const lost = mine?.state === 'lost' || mine?.state === 'expired' ? mine.want : undefined
  if (mine?.state === 'attention') return { kind: 'attention', want: mine.want }
  switch (record.status) {
    case 'approved':
    case 'rejected':
      return {
        kind: 'decided',
        outcome: record.status,
        elsewhere,
        here: mine !== undefined && lost === undefined,
        lost,
      }
    case 'expired':
      return { kind: 'expired', lost }
    case 'approving':
    case 'rejecting':
    case 'expiring':
      return { kind: 'running', want: record.status, elsewhere: mine && !lost ? undefined : elsewhere }
    case 'pending':
      if (mine?.state === 'won' || mine?.state === 'running') {
        return { kind: 'running', want: mine.want, elsewhere: undefined }
      }
      if (mine?.state === 'waiting' || mine?.state === 'sent') {
        return { kind: 'queued', want: mine.want, sent: mine.state === 'sent' }
      }
      if (record.queued) return { kind: 'queued', want: record.queued, sent: false }
      if (now >= record.expiresAt) return { kind: 'overdue' }
      return {
        kind: 'pending',
        expiresAt: record.expiresAt,
        ...(mine?.state === 'refused' && mine.problem ? { refused: mine.problem.message } : {}),
      }
  }
}

/** Old records are pruned; the call still knows how it ended. */
function withoutRecord({ status }: ToolCall): CardState {
  if (status === 'requires_confirmation' || status === 'pending') return { kind: 'arriving' }
  if (status === 'running') return { kind: 'running', want: 'approving', elsewhere: undefined }
  const outcome = status === 'complete' ? 'approved' : 'rejected'
  return { kind: 'decided', outcome, elsewhere: undefined, here: false, lost: undefined }
}
