import type { ActionConfirmation } from './action-confirmation.ts'

/**
 * Somebody else changed the stored session first; nothing of this save was stored. The session has taken over what is
 * stored, so the next call stands on that.
 */
export class SessionConflictError extends Error {
  override readonly name = 'SessionConflictError'
  /** After a lost decision: the confirmation as it stands now, so that a card can say how it was decided. */
  readonly record: ActionConfirmation | undefined

  constructor(options: { readonly record?: ActionConfirmation | undefined; readonly cause?: unknown } = {}) {
    super(
      'The session was changed by somebody else first.',
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.record = options.record
  }
}
