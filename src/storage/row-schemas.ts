import * as z from 'zod/mini'
import { ConfirmationSchema, DecisionSchema, SnapshotSchema } from '../contract/session-snapshot.ts'
import type { ClaimRow, DeleteRow, MetaRow, SessionRow, UpdateRow } from '../core/device-session.ts'
import { Position } from '../protocol/answer-fields.ts'
import { OutcomeSchema, WantSchema } from '../protocol/claim-status.ts'
import { ClaimViewSchema } from '../protocol/claim-view.ts'
import { ProblemSchema } from '../protocol/problem.ts'
import { LeaseSchema, SessionAnswerSchema } from '../protocol/session-answer.ts'

// Rows on disk are untrusted input. Snapshots, and what came over the wire, are checked as strictly as at their own
// border; ids are only checked to be text, because nothing is decided by their form here.

const Id = z.string().check(z.minLength(1))

/** One schema per field, so that a field which is added to a row cannot be forgotten here. */
type Fields<Row> = { readonly [Field in keyof Required<Row>]: z.core.$ZodType }

const sessionFields = {
  sessionId: Id,
  incarnation: Id,
  was: z.optional(z.array(Id)),
  confirmed: z.boolean(),
  local: z.optional(SnapshotSchema),
  initial: z.optional(z.string()),
  dirty: z.boolean(),
  base: z.optional(z.object({ snapshot: SnapshotSchema, etag: Id, cursor: Position, head: Position })),
  sent: z.optional(z.object({ writeId: Id, snapshot: SnapshotSchema, ifMatch: z.nullable(Id), inDoubt: z.array(Id) })),
  left: z.record(z.string(), Id),
  claims: z.record(z.string(), ClaimViewSchema),
  lease: z.optional(LeaseSchema),
  acked: Position,
  pulled: Position,
  incoming: z.optional(SessionAnswerSchema),
  refused: z.optional(z.extend(ProblemSchema, { writeId: Id })),
  diverged: z.optional(z.array(DecisionSchema)),
  deleted: z.optional(z.object({ at: z.number(), unsynced: z.boolean() })),
} satisfies Fields<SessionRow>

const claimFields = {
  kind: z.literal('claim'),
  claimId: Id,
  sessionId: Id,
  incarnation: Id,
  token: Id,
  toolCallId: Id,
  want: WantSchema,
  confirmation: ConfirmationSchema,
  own: z.boolean(),
  state: z.enum([
    'waiting',
    'sent',
    'won',
    'running',
    'attention',
    'settled',
    'lost',
    'expired',
    'refused',
    'withdrawn',
    'released',
    'taken-over',
  ]),
  attempt: Position,
  outcome: z.optional(OutcomeSchema),
  told: z.boolean(),
  expectedCursor: z.optional(Position),
  deviceAt: z.number(),
  sub: z.string(),
  problem: z.optional(ProblemSchema),
} satisfies Fields<ClaimRow>

const deleteFields = {
  kind: z.literal('delete'),
  sessionId: Id,
  incarnation: Id,
  deviceAt: z.number(),
} satisfies Fields<DeleteRow>

const metaFields = {
  device: Id,
  label: z.string(),
  account: Id,
  realm: Id,
  serverId: z.optional(z.string()),
  epoch: z.optional(Id),
  since: Position,
  clockOffsetMs: z.number(),
} satisfies Fields<MetaRow>

export const SessionRowSchema: z.ZodMiniType<SessionRow> = z.object(sessionFields)
export const OutboxRowSchema: z.ZodMiniType<ClaimRow | DeleteRow> = z.discriminatedUnion('kind', [
  z.object(claimFields),
  z.object(deleteFields),
])
export const MetaRowSchema: z.ZodMiniType<MetaRow> = z.object(metaFields)

/** By hand: a session has tens of thousands of these, and they are read all at once. */
export function isUpdateRow(value: unknown): value is UpdateRow {
  const row = value as Partial<UpdateRow> | null | undefined
  return (
    typeof row?.sessionId === 'string' &&
    typeof row.incarnation === 'string' &&
    Number.isSafeInteger(row.seq) &&
    (row.origin === 'local' || row.origin === 'server') &&
    row.bytes instanceof Uint8Array
  )
}
