import type { Confirmation, Decision, Snapshot } from '../contract/session-snapshot.ts'
import type {
  Base,
  ClaimRow,
  DeleteRow,
  MetaRow,
  OutboxRow,
  Sent,
  SessionRow,
  UpdateRow,
} from '../core/device-session.ts'
import type { ClaimView, LateSettlement } from '../protocol/claim-view.ts'
import type { Problem } from '../protocol/problem.ts'
import type { Lease, SessionAnswer } from '../protocol/session-answer.ts'
import {
  anyObject,
  binary,
  count,
  either,
  flag,
  listOf,
  mapOf,
  objectOf,
  oneOf,
  optional,
  positive,
  real,
  type Shape,
  text,
} from './shape.ts'

// Rows on disk are untrusted input: these ask whether a row is what its type says. Bounds are the business of the borders
// at which snapshots and answers come in.

/** One shape per field, so that a field which is added to a row cannot be forgotten here. */
type Fields<Row> = { readonly [Field in keyof Required<Row>]: Shape }

const want = oneOf('approving', 'rejecting', 'expiring')
const outcome = oneOf('approved', 'rejected', 'expired')
const status = either(oneOf('pending'), want, outcome)

const confirmation = objectOf({
  token: text,
  action: text,
  input: anyObject,
  toolCallId: text,
  expiresAt: count,
  status,
} satisfies Fields<Confirmation>)

const decision = objectOf({
  messageId: text,
  input: text,
  routeId: text,
  kind: oneOf('deterministic', 'repaired', 'fallback'),
  content: text,
  fromState: text,
  toState: text,
} satisfies Fields<Decision>)

const snapshot = objectOf({
  protocol: text,
  version: oneOf(1),
  sessionId: text,
  definitionId: text,
  definitionRevision: count,
  updatedAt: text,
  cursor: count,
  activeTurn: optional(objectOf({ turnId: text, expiresAt: count })),
  terminalTurns: optional(listOf(objectOf({ turnId: text, outcome: oneOf('completed', 'indeterminate') }))),
  conversation: optional(objectOf({ state: text, decisions: listOf(decision) })),
  confirmations: listOf(confirmation),
} satisfies Fields<Snapshot>)

const lateSettlement = objectOf({
  attempt: count,
  claimId: text,
  device: text,
  label: optional(text),
  sub: text,
  at: count,
  outcome,
} satisfies Fields<LateSettlement>)

const claimView = objectOf({
  token: text,
  status,
  attempt: count,
  claimId: optional(text),
  device: optional(text),
  label: optional(text),
  sub: optional(text),
  at: optional(count),
  doubt: flag,
  late: optional(listOf(lateSettlement)),
} satisfies Fields<ClaimView>)

const lease = objectOf({ turnId: text, device: text, expiresAt: count } satisfies Fields<Lease>)

const problem = objectOf({
  code: text,
  message: text,
  retryable: flag,
  hint: optional(text),
  at: real,
} satisfies Fields<Problem>)

const answer = objectOf({
  server: text,
  account: text,
  epoch: text,
  time: count,
  incarnation: text,
  etag: either(oneOf(null), text),
  etagBefore: either(oneOf(null), text),
  snapshot: either(oneOf(null), snapshot),
  head: count,
  lastWriteId: either(oneOf(null), text),
  claims: listOf(claimView),
  lease: either(oneOf(null), lease),
} satisfies Fields<SessionAnswer>)

const session = objectOf({
  sessionId: text,
  incarnation: text,
  was: optional(listOf(text)),
  confirmed: flag,
  local: optional(snapshot),
  initial: optional(text),
  dirty: flag,
  base: optional(objectOf({ snapshot, etag: text, cursor: count, head: count } satisfies Fields<Base>)),
  sent: optional(
    objectOf({
      writeId: text,
      snapshot,
      ifMatch: either(oneOf(null), text),
      inDoubt: listOf(text),
    } satisfies Fields<Sent>),
  ),
  left: mapOf(text),
  claims: mapOf(claimView),
  lease: optional(lease),
  acked: count,
  pulled: count,
  epoch: optional(text),
  giveBack: optional(flag),
  incoming: optional(answer),
  refused: optional((value) => problem(value) && objectOf({ writeId: text })(value)),
  diverged: optional(listOf(decision)),
  seenLate: optional(listOf(text)),
  deleted: optional(objectOf({ at: real, unsynced: flag })),
} satisfies Fields<SessionRow>)

const claim = objectOf({
  kind: oneOf('claim'),
  claimId: text,
  sessionId: text,
  incarnation: text,
  token: text,
  toolCallId: text,
  want,
  confirmation,
  own: flag,
  state: oneOf(
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
  ),
  attempt: count,
  outcome: optional(outcome),
  told: flag,
  expectedCursor: optional(count),
  deviceAt: real,
  wonAt: optional(real),
  startedAt: optional(real),
  foreign: optional(flag),
  sub: text,
  problem: optional(problem),
  undeliverable: optional(problem),
} satisfies Fields<ClaimRow>)

const removal = objectOf({
  kind: oneOf('delete'),
  sessionId: text,
  incarnation: text,
  deviceAt: real,
  problem: optional(problem),
} satisfies Fields<DeleteRow>)

const update = objectOf({
  sessionId: text,
  incarnation: text,
  seq: positive,
  origin: oneOf('local', 'server'),
  bytes: binary,
} satisfies Fields<UpdateRow>)

const meta = objectOf({
  device: text,
  label: text,
  account: text,
  realm: text,
  serverId: optional(text),
  epoch: optional(text),
  since: count,
  clockOffsetMs: real,
} satisfies Fields<MetaRow>)

const asGuard =
  <Row>(...shapes: readonly Shape[]) =>
  (value: unknown): value is Row =>
    shapes.some((shape) => shape(value))

export const isSessionRow = asGuard<SessionRow>(session)
export const isOutboxRow = asGuard<OutboxRow>(claim, removal)
export const isUpdateRow = asGuard<UpdateRow>(update)
export const isMetaRow = asGuard<MetaRow>(meta)
