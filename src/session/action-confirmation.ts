import type { JsonObject } from '../contract/bounded-json.ts'
import type { ClaimToRun } from '../contract/live-session-storage.ts'
import type { Confirmation, ConfirmationStatus } from '../contract/session-snapshot.ts'

/** What a person asked for: the status while it is being done. */
export type Want = ClaimToRun['want']
/** How it ended. */
export type Outcome = Exclude<ConfirmationStatus, Want | 'pending'>

/** An action that a person confirms before it runs, as a session shows it. Frozen, its input too. */
export interface ActionConfirmation {
  readonly token: string
  readonly sessionId: string
  readonly action: string
  readonly input: JsonObject
  readonly toolCallId: string
  /** Epoch ms. Nothing expires by itself: a decision after it is an expiry. */
  readonly expiresAt: number
  readonly status: ConfirmationStatus
  /** This device's decision while the confirmation is still pending: it waits for the server, or for its turn to run. */
  readonly queued?: Want
}

const OUTCOMES: Readonly<Record<Want, Outcome>> = { approving: 'approved', rejecting: 'rejected', expiring: 'expired' }

export function outcomeOf(want: Want): Outcome {
  return OUTCOMES[want]
}

export function isSettled(status: ConfirmationStatus): status is Outcome {
  return status === 'approved' || status === 'rejected' || status === 'expired'
}

/** The record of a stored confirmation in its session. */
export function toActionConfirmation(confirmation: Confirmation, sessionId: string, queued?: Want): ActionConfirmation {
  return Object.freeze({
    ...confirmation,
    input: deepFreeze(confirmation.input),
    sessionId,
    ...(queued && confirmation.status === 'pending' && { queued }),
  })
}

/** What is stored of a record: the session's own fields stay with the session. */
export function toConfirmation(record: ActionConfirmation): Confirmation {
  const { token, action, input, toolCallId, expiresAt, status } = record
  return { token, action, input, toolCallId, expiresAt, status }
}

export function withStatus(record: ActionConfirmation, status: ConfirmationStatus): ActionConfirmation {
  const { queued: _, ...rest } = record
  return Object.freeze({ ...rest, status })
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const member of Object.values(value)) deepFreeze(member)
    Object.freeze(value)
  }
  return value
}
