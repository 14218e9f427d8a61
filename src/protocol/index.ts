export {
  type Common,
  commonFields,
  DEVICE_HEADER,
  Position,
  PROTOCOL_VERSION,
  ServerTime,
} from './answer-fields.ts'
export { base64ToBytes, bytesToBase64 } from './base64.ts'
export {
  isOutcome,
  isWant,
  OUTCOMES,
  type Outcome,
  OutcomeSchema,
  outcomeOf,
  statusRank,
  WANTS,
  type Want,
  WantSchema,
} from './claim-status.ts'
export { type ClaimView, ClaimViewSchema, type LateSettlement, MAX_LATE_SETTLEMENTS } from './claim-view.ts'
export { CLOSE_CODES, isPermanentClose } from './close-codes.ts'
export { type DeleteAnswer, DeleteAnswerSchema } from './delete-session.ts'
export { type ETagParts, formatETag } from './etag.ts'
export { type FeedAnswer, FeedAnswerSchema, type FeedItem } from './feed.ts'
export {
  ClaimId,
  DeviceId,
  type Epoch,
  EpochSchema,
  type ETag,
  ETagSchema,
  epochStart,
  type Incarnation,
  IncarnationSchema,
  isEarlierEpoch,
  Token,
} from './identity.ts'
export {
  FEED_PAGE_ITEMS,
  MAX_JSON_DEPTH,
  MAX_NOTE_LENGTH,
  MAX_REQUEST_BYTES,
  MAX_UPDATE_BYTES,
  UPDATES_PAGE_BYTES,
} from './limits.ts'
export { BEARER_PREFIX, parseRoomName, paths, roomName, SUBPROTOCOL } from './paths.ts'
export { PROBLEM_CODES, type Problem, type ProblemCode, ProblemSchema } from './problem.ts'
export {
  CLAIM_RESULTS,
  type ClaimAnswer,
  ClaimAnswerSchema,
  type ClaimResult,
  type PutClaim,
  PutClaimSchema,
  type WithSnapshot,
} from './put-claim.ts'
export { type PutSession, PutSessionSchema, WriteId } from './put-session.ts'
export { MAX_LEASE_MS, type PutTurn, PutTurnSchema, type TurnAnswer, TurnAnswerSchema } from './put-turn.ts'
export { LABEL_HEADER } from './registration.ts'
export {
  type Lease,
  LeaseSchema,
  type SessionAnswer,
  SessionAnswerSchema,
  sessionAnswerFields,
} from './session-answer.ts'
export { decodeSignal, encodeSignal, SIGNAL_FRAME, type Signal } from './signal.ts'
export {
  type GetUpdatesAnswer,
  GetUpdatesAnswerSchema,
  type PostUpdates,
  type PostUpdatesAnswer,
  PostUpdatesAnswerSchema,
  PostUpdatesSchema,
  type UpdatesGap,
  UpdatesGapSchema,
} from './updates.ts'
