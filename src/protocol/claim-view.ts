import * as z from 'zod/mini'
import { ConfirmationStatus } from '../contract/session-snapshot.ts'
import { Position, ServerTime } from './answer-fields.ts'
import { type Outcome, OutcomeSchema } from './claim-status.ts'
import { ClaimId, DeviceId, Token } from './identity.ts'

/** More than that are not told of one token. */
export const MAX_LATE_SETTLEMENTS = 32

const label = z.string().check(z.maxLength(128))
const sub = z.string().check(z.maxLength(256))

const LateSettlementSchema = z.object({
  attempt: Position,
  claimId: ClaimId,
  device: DeviceId,
  label: z.optional(label),
  sub,
  at: ServerTime,
  outcome: OutcomeSchema,
})

/**
 * A device told how its run had ended when the token did not stand for that run any more, rule K8: what it did may have
 * happened beside what the token stands for now. `at`: when it told.
 */
export interface LateSettlement {
  readonly attempt: number
  readonly claimId: string
  readonly device: string
  readonly label?: string | undefined
  readonly sub: string
  readonly at: number
  readonly outcome: Outcome
}

export const ClaimViewSchema = z.object({
  token: Token,
  status: ConfirmationStatus,
  attempt: Position,
  claimId: z.optional(ClaimId),
  device: z.optional(DeviceId),
  label: z.optional(label),
  sub: z.optional(sub),
  at: z.optional(ServerTime),
  doubt: z.boolean(),
  late: z.optional(z.array(LateSettlementSchema).check(z.maxLength(MAX_LATE_SETTLEMENTS))),
})

/** What the server tells of one token's claim: who holds it, and which attempt. `doubt`: after a restore, nobody knows. */
export interface ClaimView {
  readonly token: string
  readonly status: ConfirmationStatus
  readonly attempt: number
  readonly claimId?: string | undefined
  readonly device?: string | undefined
  readonly label?: string | undefined
  readonly sub?: string | undefined
  readonly at?: number | undefined
  readonly doubt: boolean
  /** The oldest first; absent: none. */
  readonly late?: readonly LateSettlement[] | undefined
}
