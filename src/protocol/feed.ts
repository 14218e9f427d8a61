import * as z from 'zod/mini'
import { SafeId } from '../contract/safe-id.ts'
import { type Common, commonFields, Position } from './answer-fields.ts'
import { type ETag, ETagSchema, type Incarnation, IncarnationSchema } from './identity.ts'

export const FeedAnswerSchema = z.object({
  ...commonFields,
  head: Position,
  floor: Position,
  more: z.boolean(),
  items: z.array(
    z.object({
      sessionId: SafeId,
      incarnation: IncarnationSchema,
      seq: Position,
      etag: z.nullable(ETagSchema),
      head: Position,
      deleted: z.boolean(),
    }),
  ),
})

export interface FeedItem {
  readonly sessionId: string
  readonly incarnation: Incarnation
  readonly seq: number
  readonly etag: ETag | null
  /** The position of the session's update log. */
  readonly head: number
  readonly deleted: boolean
}

/** `GET /v1/sessions?since=`: which sessions of the account moved, in the server's order, with tombstones. */
export interface FeedAnswer extends Common {
  readonly head: number
  /** Below it, tombstones were purged: list everything. */
  readonly floor: number
  readonly more: boolean
  readonly items: readonly FeedItem[]
}
