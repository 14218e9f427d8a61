import * as z from 'zod/mini'
import { type Snapshot, SnapshotSchema } from '../contract/session-snapshot.ts'
import { type Incarnation, IncarnationSchema, Token } from './identity.ts'

export const WriteId = z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/))

export const PutSessionSchema = z.object({
  incarnation: IncarnationSchema,
  writeId: WriteId,
  snapshot: SnapshotSchema,
  inDoubt: z.optional(z.array(Token).check(z.maxLength(1000))),
  upgrade: z.optional(z.literal(true)),
})

/**
 * `PUT /v1/sessions/:id` with `If-None-Match: *` (create) or `If-Match` (update).
 * 200, 201 and 412 answer a SessionAnswer; 409 `other-incarnation` (with a SessionAnswer), `claim-missing`,
 * `definition-mismatch`; 410 `deleted`.
 */
export interface PutSession {
  readonly incarnation: Incarnation
  /** Made once per write and sent again unchanged: a device never conflicts with itself. */
  readonly writeId: string
  readonly snapshot: Snapshot
  readonly inDoubt?: readonly string[] | undefined
  readonly upgrade?: true | undefined
}
