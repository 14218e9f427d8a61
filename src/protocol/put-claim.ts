import * as z from 'zod/mini'
import { type Confirmation, ConfirmationSchema, type Snapshot, SnapshotSchema } from '../contract/session-snapshot.ts'
import { Position } from './answer-fields.ts'
import { type Outcome, OutcomeSchema, type Want, WantSchema } from './claim-status.ts'
import { type ClaimView, ClaimViewSchema } from './claim-view.ts'
import {
  ClaimId,
  type Epoch,
  EpochSchema,
  type ETag,
  ETagSchema,
  type Incarnation,
  IncarnationSchema,
} from './identity.ts'
import { MAX_NOTE_LENGTH } from './limits.ts'
import { type Problem, ProblemSchema } from './problem.ts'
import { WriteId } from './put-session.ts'
import { type SessionAnswer, sessionAnswerFields } from './session-answer.ts'

const note = z.string().check(z.maxLength(MAX_NOTE_LENGTH))
const incarnation = IncarnationSchema
const withSnapshot = {
  ifMatch: z.optional(ETagSchema),
  snapshot: z.optional(SnapshotSchema),
  writeId: z.optional(WriteId),
}

export const PutClaimSchema = z.discriminatedUnion('op', [
  z.object({
    op: z.literal('claim'),
    incarnation,
    claimId: ClaimId,
    want: WantSchema,
    confirmation: ConfirmationSchema,
    leftIn: z.nullable(EpochSchema),
    ...withSnapshot,
  }),
  z.object({
    op: z.literal('settle'),
    incarnation,
    claimId: ClaimId,
    attempt: Position,
    outcome: OutcomeSchema,
    note: z.optional(note),
    ...withSnapshot,
  }),
  z.object({ op: z.literal('release'), incarnation, claimId: ClaimId, attempt: Position, note: z.optional(note) }),
  z.object({
    op: z.literal('assert'),
    incarnation,
    claimId: ClaimId,
    attempt: Position,
    want: WantSchema,
    confirmation: ConfirmationSchema,
    note: z.optional(note),
  }),
  z.object({ op: z.literal('take-over'), incarnation, claimId: ClaimId, attempt: Position, note }),
  z.object({ op: z.literal('clear-doubt'), incarnation, claimId: ClaimId, attempt: Position, note }),
])

/** All three or none; both commit or neither. */
export interface WithSnapshot {
  readonly ifMatch?: ETag | undefined
  readonly snapshot?: Snapshot | undefined
  readonly writeId?: string | undefined
}

interface ClaimOf {
  readonly incarnation: Incarnation
  readonly claimId: string
}

/** `PUT /v1/sessions/:id/claims/:token`. */
export type PutClaim =
  | (ClaimOf &
      WithSnapshot & {
        readonly op: 'claim'
        readonly want: Want
        readonly confirmation: Confirmation
        readonly leftIn: Epoch | null
      })
  | (ClaimOf &
      WithSnapshot & {
        readonly op: 'settle'
        readonly attempt: number
        readonly outcome: Outcome
        readonly note?: string | undefined
      })
  /** Nothing ran. */
  | (ClaimOf & { readonly op: 'release'; readonly attempt: number; readonly note?: string | undefined })
  /** After a restore: I hold it, whatever the backup knows of it; `want` and `confirmation` as it was claimed. */
  | (ClaimOf & {
      readonly op: 'assert'
      readonly attempt: number
      readonly want: Want
      readonly confirmation: Confirmation
      readonly note?: string | undefined
    })
  /** By a person; `attempt` is the one that was seen. */
  | (ClaimOf & { readonly op: 'take-over' | 'clear-doubt'; readonly attempt: number; readonly note: string })

export const CLAIM_RESULTS = ['won', 'recorded', 'lost', 'expired', 'refused'] as const
export type ClaimResult = (typeof CLAIM_RESULTS)[number]

export const ClaimAnswerSchema = z.object({
  ...sessionAnswerFields,
  result: z.enum(CLAIM_RESULTS),
  claim: ClaimViewSchema,
  problem: z.optional(ProblemSchema),
})

/** 200 for `won` and `recorded`, 409 for the rest. */
export interface ClaimAnswer extends SessionAnswer {
  readonly result: ClaimResult
  readonly claim: ClaimView
  readonly problem?: Problem | undefined
}
