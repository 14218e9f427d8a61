import type { ProblemCode } from '../../src/protocol/problem.ts'

interface ProblemKind {
  readonly status: number
  /** True: the same request may be accepted later, without a person doing anything. */
  readonly retryable: boolean
}

/** How each refusal travels. An unknown id and a forbidden one are both `not-found`. */
export const PROBLEMS: Readonly<Record<ProblemCode, ProblemKind>> = {
  'bad-request': { status: 400, retryable: false },
  'too-deep': { status: 400, retryable: false },
  unauthorized: { status: 401, retryable: false },
  forbidden: { status: 403, retryable: false },
  'not-found': { status: 404, retryable: false },
  conflict: { status: 409, retryable: false },
  'other-incarnation': { status: 409, retryable: false },
  'claim-missing': { status: 409, retryable: true },
  'not-expired': { status: 409, retryable: true },
  restored: { status: 409, retryable: false },
  'definition-mismatch': { status: 409, retryable: false },
  'cursor-behind': { status: 409, retryable: false },
  gap: { status: 409, retryable: true },
  deleted: { status: 410, retryable: false },
  'too-large': { status: 413, retryable: false },
  'snapshot-invalid': { status: 422, retryable: false },
  'unsupported-version': { status: 422, retryable: false },
  'update-invalid': { status: 422, retryable: false },
  'rate-limited': { status: 429, retryable: true },
  internal: { status: 500, retryable: true },
  'not-ready': { status: 503, retryable: true },
}
