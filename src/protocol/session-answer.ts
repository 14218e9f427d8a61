import * as z from 'zod/mini'
import { type Snapshot, SnapshotSchema } from '../contract/session-snapshot.ts'
import { type Common, commonFields, Position, ServerTime } from './answer-fields.ts'
import { type ClaimView, ClaimViewSchema } from './claim-view.ts'
import { DeviceId, type ETag, ETagSchema, type Incarnation, IncarnationSchema } from './identity.ts'

export const LeaseSchema = z.object({
  turnId: z.string().check(z.minLength(1), z.maxLength(128)),
  device: DeviceId,
  expiresAt: ServerTime,
})

/** Who may take the turn, by the server's clock. It guards interleaving, not effects. */
export interface Lease {
  readonly turnId: string
  readonly device: string
  readonly expiresAt: number
}

export const sessionAnswerFields = {
  ...commonFields,
  incarnation: IncarnationSchema,
  etag: z.nullable(ETagSchema),
  etagBefore: z.nullable(ETagSchema),
  snapshot: z.nullable(SnapshotSchema),
  head: Position,
  lastWriteId: z.nullable(z.string().check(z.maxLength(128))),
  claims: z.array(ClaimViewSchema).check(z.maxLength(2000)),
  lease: z.nullable(LeaseSchema),
}

export const SessionAnswerSchema = z.object(sessionAnswerFields)

/** Where a session stands on the server. The answer to `GET` and `PUT /v1/sessions/:id`, and part of most others. */
export interface SessionAnswer extends Common {
  readonly incarnation: Incarnation
  /** `null`: no snapshot yet. */
  readonly etag: ETag | null
  /** Before this request's transaction; equal to `etag` when it changed nothing. */
  readonly etagBefore: ETag | null
  readonly snapshot: Snapshot | null
  /** The position of the session's update log. */
  readonly head: number
  /** The last `writeId` that the server accepted from the asking device. */
  readonly lastWriteId: string | null
  /** All unfinished claims, all with an attempt above 0, and all with late settlements. */
  readonly claims: readonly ClaimView[]
  readonly lease: Lease | null
}
