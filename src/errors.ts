/** Every code that a {@link RejoinError} can carry. `docs/errors.md` has a row for each. */
export const ERROR_CODES = [
  'storage-unavailable',
  'storage-blocked',
  'storage-full',
  'storage-corrupt',
  'snapshot-invalid',
  'definition-mismatch',
  'claim-queued',
  'nothing-to-run',
  'not-loaded',
  'unauthorized',
  'refused',
  'server-behind',
  'protocol-mismatch',
  'too-large',
  'deleted',
  'closed',
] as const

export type RejoinErrorCode = (typeof ERROR_CODES)[number]

export interface RejoinErrorOptions {
  /** The next move of whoever reads this, in one sentence. */
  readonly hint?: string
  readonly cause?: unknown
}

/** The only exception that Rejoin throws of its own; `code` is closed, `message` is for people. */
export class RejoinError extends Error {
  override readonly name = 'RejoinError'
  readonly code: RejoinErrorCode
  readonly hint: string | undefined

  constructor(code: RejoinErrorCode, message: string, options: RejoinErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.hint = options.hint
  }
}

export function isRejoinError(error: unknown, code?: RejoinErrorCode): error is RejoinError {
  return error instanceof RejoinError && (code === undefined || error.code === code)
}
