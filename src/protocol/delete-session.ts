import * as z from 'zod/mini'
import { type Common, commonFields } from './answer-fields.ts'
import { type Incarnation, IncarnationSchema } from './identity.ts'

export const DeleteAnswerSchema = z.object({ ...commonFields, incarnation: IncarnationSchema })

/** `DELETE /v1/sessions/:id?incarnation=`: that incarnation is over for good, now or already before. */
export interface DeleteAnswer extends Common {
  readonly incarnation: Incarnation
}
