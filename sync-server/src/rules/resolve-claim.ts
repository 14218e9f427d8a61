import { isWant, outcomeOf } from '../../../src/protocol/claim-status.ts'
import type { PutClaim } from '../../../src/protocol/put-claim.ts'
import { assertClaim } from './assert-claim.ts'
import { type ClaimOutcome, isHolder, viewOf } from './claim-reply.ts'
import { addEvidence, addLateSettlement, type Statement } from './evidence.ts'
import { restored } from './grant-claim.ts'
import { moveToken, touchToken } from './move-token.ts'
import type { Objection } from './reply.ts'
import { claimView } from './session-answer.ts'
import type { ClaimRecord, Evidence, RuleContext, SessionState } from './session-state.ts'

export type ResolveRequest = Exclude<PutClaim, { readonly op: 'claim' }>

/** What happens to a claim after it was given: settled, released, asserted after a restore, or moved on by a person. */
export function resolveClaim(
  state: SessionState,
  token: string,
  request: ResolveRequest,
  context: RuleContext,
): ClaimOutcome {
  const row = state.claims.get(token)
  if (request.op === 'assert') return assertClaim(state, row, request, context)
  if (!row) {
    const objection: Objection = {
      code: 'claim-missing',
      message: 'The server knows no claim of this token.',
      hint: 'Send the claim again first.',
    }
    return { result: 'refused', claim: viewOf(state, token), objection }
  }
  switch (request.op) {
    case 'settle':
      return settle(state, row, request, context)
    case 'release':
      return release(state, row, request, context)
    case 'take-over':
      return takeOver(state, row, request, context)
    case 'clear-doubt':
      return clearDoubt(state, row, request, context)
  }
}

type Settlement = Extract<ResolveRequest, { readonly op: 'settle' }>

/** Recorded once; told again, it is recorded already. From whom the row does not stand for it stays as evidence. */
function settle(state: SessionState, row: ClaimRecord, request: Settlement, context: RuleContext): ClaimOutcome {
  if (!holdsAttempt(row, request, context)) return keepLateSettlement(state, row, request, context)
  if (row.status === request.outcome) return { result: 'recorded', claim: claimView(row) }
  if (!isWant(row.status) || outcomeOf(row.status) !== request.outcome) {
    const objection: Objection = { code: 'conflict', message: `It cannot end ${request.outcome} from ${row.status}.` }
    return { result: 'refused', claim: claimView(row), objection }
  }
  const settled = withStatus({ ...row, doubt: false, settledAt: context.now }, request.outcome)
  return recorded(state, settled, request.claimId, context)
}

/** It settles nothing, and everybody hears of it: its effect may have happened beside that of another attempt. */
function keepLateSettlement(
  state: SessionState,
  row: ClaimRecord,
  request: Settlement,
  context: RuleContext,
): ClaimOutcome {
  const late = addLateSettlement(row, request, context)
  if (!late) return lost(row)
  return { result: 'lost', claim: claimView(late), change: touchToken(state, late, request.claimId, context) }
}

/** The holder says that nothing ran: the token is pending again, for whoever comes first. */
function release(state: SessionState, row: ClaimRecord, request: Statement, context: RuleContext): ClaimOutcome {
  if (hasEvidence(row, 'released', request)) return { result: 'recorded', claim: claimView(row) }
  if (!holdsAttempt(row, request, context) || !isWant(row.status)) return lost(row)
  return recorded(state, nextAttempt(addEvidence(row, 'released', request, context)), request.claimId, context)
}

/** A person on another device ends an attempt that seems to go nowhere, on record: the decision is asked again. */
function takeOver(state: SessionState, row: ClaimRecord, request: Statement, context: RuleContext): ClaimOutcome {
  if (endedBy(row, 'taken-over', request.attempt, context)) return { result: 'recorded', claim: claimView(row) }
  if (row.doubt) return { result: 'refused', claim: claimView(row), objection: restored }
  const { claimId } = row
  if (claimId === undefined || row.attempt !== request.attempt || !isWant(row.status)) return lost(row)
  const ended = addEvidence(row, 'taken-over', { ...request, claimId }, context)
  return recorded(state, nextAttempt(ended), request.claimId, context)
}

/** A person has looked and says that the token may be decided, though a restore lost what became of it. */
function clearDoubt(state: SessionState, row: ClaimRecord, request: Statement, context: RuleContext): ClaimOutcome {
  if (endedBy(row, 'released', request.attempt, context)) return { result: 'recorded', claim: claimView(row) }
  if (!row.doubt || row.attempt !== request.attempt) return lost(row)
  const cleared = addEvidence(row, 'released', { ...request, claimId: row.claimId ?? 'server' }, context)
  return recorded(state, nextAttempt(cleared), request.claimId, context)
}

function recorded(state: SessionState, claim: ClaimRecord, writer: string, context: RuleContext): ClaimOutcome {
  return { result: 'recorded', claim: claimView(claim), change: moveToken(state, claim, writer, context) }
}

function lost(row: ClaimRecord): ClaimOutcome {
  return { result: 'lost', claim: claimView(row) }
}

function holdsAttempt(row: ClaimRecord, request: Statement, context: RuleContext): boolean {
  return isHolder(row, request.claimId, context) && row.attempt === request.attempt
}

/** Pending once more, held by nobody. */
function nextAttempt({ token, attempt, incarnation, toolCallId, confirmation, evidence }: ClaimRecord): ClaimRecord {
  const status = 'pending'
  return {
    token,
    status,
    attempt: attempt + 1,
    doubt: false,
    incarnation,
    toolCallId,
    confirmation: { ...confirmation, status },
    evidence,
  }
}

function withStatus(row: ClaimRecord, status: ClaimRecord['status']): ClaimRecord {
  return { ...row, status, confirmation: { ...row.confirmation, status } }
}

function hasEvidence(row: ClaimRecord, how: Evidence['how'], request: Statement): boolean {
  return row.evidence.some((it) => it.how === how && it.claimId === request.claimId && it.attempt === request.attempt)
}

/** True if this device said so already: its answer was lost. */
function endedBy(row: ClaimRecord, how: Evidence['how'], attempt: number, { device }: RuleContext): boolean {
  return row.evidence.some((it) => it.how === how && it.attempt === attempt && it.device === device)
}
