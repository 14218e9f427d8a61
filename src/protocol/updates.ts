import * as z from 'zod/mini'
import { type Common, commonFields, Position } from './answer-fields.ts'
import { type Incarnation, IncarnationSchema } from './identity.ts'
import { MAX_UPDATE_BYTES } from './limits.ts'

const Base64 = z
  .string()
  .check(
    z.maxLength(Math.ceil(MAX_UPDATE_BYTES / 3) * 4),
    z.regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/),
  )

export const PostUpdatesSchema = z.object({
  incarnation: IncarnationSchema,
  updates: z.array(Base64).check(z.minLength(1), z.maxLength(10_000)),
})

/** `POST /v1/sessions/:id/updates`: Yjs updates, V1, base64. Creates the session without a snapshot. */
export interface PostUpdates {
  readonly incarnation: Incarnation
  readonly updates: readonly string[]
}

export const PostUpdatesAnswerSchema = z.object({ ...commonFields, incarnation: IncarnationSchema, head: Position })

/** The updates are durable; `head` is the log's position after them. */
export interface PostUpdatesAnswer extends Common {
  readonly incarnation: Incarnation
  readonly head: number
}

export const UpdatesGapSchema = z.object({ stateVector: Base64 })

/** Beside the problem of a 409 `gap`: a Yjs state vector, base64. What the log lacks follows it; nothing was stored. */
export interface UpdatesGap {
  readonly stateVector: string
}

export const GetUpdatesAnswerSchema = z.object({
  ...commonFields,
  incarnation: IncarnationSchema,
  from: Position,
  head: Position,
  updates: z.array(Base64),
  more: z.boolean(),
})

/** `GET /v1/sessions/:id/updates?since=`: what follows `from`, up to `head`; `more` asks for another request. */
export interface GetUpdatesAnswer extends Common {
  readonly incarnation: Incarnation
  readonly from: number
  readonly head: number
  readonly updates: readonly string[]
  readonly more: boolean
}
