import * as z from 'zod/mini'
import type { ConfirmationStatus } from '../contract/session-snapshot.ts'

export const WANTS = ['approving', 'rejecting', 'expiring'] as const
export const OUTCOMES = ['approved', 'rejected', 'expired'] as const

export const WantSchema = z.enum(WANTS)
export const OutcomeSchema = z.enum(OUTCOMES)

/** What a person asked for: the processing status of a confirmation. */
export type Want = (typeof WANTS)[number]
/** How it ended: the terminal status. */
export type Outcome = (typeof OUTCOMES)[number]

const OUTCOME_OF: Record<Want, Outcome> = { approving: 'approved', rejecting: 'rejected', expiring: 'expired' }

export function outcomeOf(want: Want): Outcome {
  return OUTCOME_OF[want]
}

export function isWant(status: ConfirmationStatus): status is Want {
  return (WANTS as readonly string[]).includes(status)
}

export function isOutcome(status: ConfirmationStatus): status is Outcome {
  return (OUTCOMES as readonly string[]).includes(status)
}

/** 0 pending, 1 processing, 2 terminal: statuses are ordered by (attempt, rank), rule R7. */
export function statusRank(status: ConfirmationStatus): 0 | 1 | 2 {
  if (status === 'pending') return 0
  return isWant(status) ? 1 : 2
}
