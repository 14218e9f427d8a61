import type { ProblemCode } from '../../src/protocol/problem.ts'

/** A request that is refused before any rule sees it. */
export class RequestProblem extends Error {
  override readonly name = 'RequestProblem'
  readonly code: ProblemCode
  readonly hint: string | undefined
  /** For the server's log alone: what is nobody's business at the other end. */
  readonly why: string | undefined

  constructor(code: ProblemCode, message: string, hint?: string, why?: string) {
    super(message)
    this.code = code
    this.hint = hint
    this.why = why
  }
}
