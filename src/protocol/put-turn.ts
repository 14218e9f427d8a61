import * as z from 'zod/mini'
import { SafeId } from '../contract/safe-id.ts'
import { SnapshotSchema } from '../contract/session-snapshot.ts'
import { ETagSchema, type Incarnation, IncarnationSchema } from './identity.ts'
import type { WithSnapshot } from './put-claim.ts'
import { WriteId } from './put-session.ts'
import { type SessionAnswer, sessionAnswerFields } from './session-answer.ts'

export const MAX_LEASE_MS = 10 * 60_000

const base = {
  incarnation: IncarnationSchema,
  turnId: SafeId,
  ifMatch: z.optional(ETagSchema),
  snapshot: z.optional(SnapshotSchema),
  writeId: z.optional(WriteId),
}
const leaseMs = z.number().check(z.refine(Number.isSafeInteger), z.gt(0), z.lte(MAX_LEASE_MS))

export const PutTurnSchema = z.discriminatedUnion('op', [
  z.object({ ...base, op: z.literal('take'), leaseMs }),
  z.object({ ...base, op: z.literal('renew'), leaseMs }),
  z.object({ ...base, op: z.literal('release'), outcome: z.enum(['completed', 'indeterminate']) }),
])

/** `PUT /v1/sessions/:id/turn`: a lease, judged by the server's clock. */
export type PutTurn = WithSnapshot & { readonly incarnation: Incarnation; readonly turnId: string } & (
    | { readonly op: 'take' | 'renew'; readonly leaseMs: number }
    | { readonly op: 'release'; readonly outcome: 'completed' | 'indeterminate' }
  )

export const TurnAnswerSchema = z.object({ ...sessionAnswerFields, granted: z.boolean() })

export interface TurnAnswer extends SessionAnswer {
  readonly granted: boolean
}
