import * as z from 'zod/mini'
import { ServerTime } from './answer-fields.ts'

/** Every code that the server refuses with. `docs/protocol.md` has a row for each. */
export const PROBLEM_CODES = [
  'bad-request',
  'snapshot-invalid',
  'unsupported-version',
  'too-large',
  'too-deep',
  'unauthorized',
  'forbidden',
  'not-found',
  'conflict',
  'other-incarnation',
  'claim-missing',
  'not-expired',
  'restored',
  'definition-mismatch',
  'cursor-behind',
  'deleted',
  'gap',
  'update-invalid',
  'rate-limited',
  'not-ready',
  'internal',
] as const
export type ProblemCode = (typeof PROBLEM_CODES)[number]

export const ProblemSchema = z.object({
  code: z.string().check(z.minLength(1), z.maxLength(64)),
  message: z.string().check(z.maxLength(2000)),
  retryable: z.boolean(),
  hint: z.optional(z.string().check(z.maxLength(2000))),
  at: ServerTime,
})

/** Why something was refused. `code` is stable, `message` is for people. */
export interface Problem {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
  readonly hint?: string | undefined
  readonly at: number
}
