import * as z from 'zod/mini'
import { ConfirmationStatus } from '../contract/session-snapshot.ts'
import { Position, ServerTime } from './answer-fields.ts'
import { ClaimId, DeviceId, Token } from './identity.ts'

export const ClaimViewSchema = z.object({
  token: Token,
  status: ConfirmationStatus,
  attempt: Position,
  claimId: z.optional(ClaimId),
  device: z.optional(DeviceId),
  label: z.optional(z.string().check(z.maxLength(128))),
  sub: z.optional(z.string().check(z.maxLength(256))),
  at: z.optional(ServerTime),
  doubt: z.boolean(),
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
}
