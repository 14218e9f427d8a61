import type { Common } from '../../../src/protocol/answer-fields.ts'
import type { Problem, ProblemCode } from '../../../src/protocol/problem.ts'
import type { SessionAnswer } from '../../../src/protocol/session-answer.ts'
import { PROBLEMS } from '../problems.ts'
import type { RuleContext } from './session-state.ts'

/** A refusal: the problem, and where the session stands if it lives. */
export type Refusal = Problem & Common & Partial<SessionAnswer> & { readonly stateVector?: string }

/** An HTTP answer before HTTP: a status and a body that is JSON as it stands. */
export interface Reply<Body extends object> {
  readonly status: number
  readonly body: Body | Refusal
}

export function commonOf({ server, account, epoch, now }: RuleContext): Common {
  return { server, account, epoch, time: now }
}

export function problemOf(context: RuleContext, code: ProblemCode, message: string, hint?: string): Problem {
  return { code, message, retryable: PROBLEMS[code].retryable, ...(hint !== undefined && { hint }), at: context.now }
}

/** A problem that a rule found, not yet in an answer. */
export interface Objection {
  readonly code: ProblemCode
  readonly message: string
  readonly hint?: string
}

export function refuse(context: RuleContext, { code, message, hint }: Objection, answer?: SessionAnswer): Reply<never> {
  const problem = problemOf(context, code, message, hint)
  return { status: PROBLEMS[code].status, body: { ...(answer ?? commonOf(context)), ...problem } }
}

export function isRefusal(body: object): body is Refusal {
  return 'code' in body
}
