import {
  type Confirmation,
  type ConfirmationStatus,
  MAX_CONFIRMATIONS,
  type Snapshot,
} from '../../../src/contract/session-snapshot.ts'
import { chains, initialState } from '../../../src/core/conversation-chain.ts'
import { overlayStatuses } from '../../../src/core/overlay-statuses.ts'
import { pruneConfirmations } from '../../../src/core/prune-confirmations.ts'
import { isOutcome, statusRank } from '../../../src/protocol/claim-status.ts'
import type { ClaimView } from '../../../src/protocol/claim-view.ts'
import type { Incarnation } from '../../../src/protocol/identity.ts'
import { claimsUnder, newSession } from './incarnation.ts'
import type { Objection } from './reply.ts'
import { claimView } from './session-answer.ts'
import type { ClaimRecord, RuleContext, SessionChange, SessionState } from './session-state.ts'

export interface AskedSnapshot {
  readonly incarnation: string
  readonly snapshot: Snapshot
  readonly writeId: string
  /** Unfinished tokens that left the device in an earlier epoch, rule I5. */
  readonly inDoubt?: readonly string[] | undefined
  readonly upgrade?: boolean | undefined
}

export type StoredSnapshot =
  | { readonly ok: true; readonly change: SessionChange }
  | { readonly ok: false; readonly objection: Objection }

/** Far above what any session counts to, and far below where counting on would leave the safe integers. */
const MAX_CURSOR = 2 ** 52

/**
 * Stores what was asked, if it may stand on what is stored: definition and cursor (R3), chain (R9), and no decision that
 * nobody claimed (K9). Statuses and tokens that it shows too early or leaves out are kept (R7). The caller has checked
 * incarnation and ETag.
 */
export function storeSnapshot(state: SessionState, asked: AskedSnapshot, context: RuleContext): StoredSnapshot {
  const { snapshot } = asked
  const session = state.session ?? newSession(asked.incarnation)
  if (snapshot.sessionId !== context.sessionId) {
    return refused({ code: 'snapshot-invalid', message: 'The snapshot belongs to another session.' })
  }
  if (snapshot.cursor > MAX_CURSOR) {
    return refused({ code: 'snapshot-invalid', message: `A cursor is at most ${MAX_CURSOR}: claims raise it further.` })
  }
  const mismatch = definitionMismatch(state, asked)
  if (mismatch) return refused(mismatch)
  if (state.snapshot && snapshot.cursor <= session.cursor) {
    return refused({
      code: 'cursor-behind',
      message: `The snapshot's cursor ${snapshot.cursor} is not above the stored ${session.cursor}.`,
      hint: 'Raise the cursor above the base before sending.',
    })
  }
  const kept = asked.upgrade ? null : session.initial
  const initial = kept ?? (snapshot.conversation ? initialState(snapshot.conversation) : null)
  if (initial !== null && snapshot.conversation && !chains(initial, snapshot.conversation)) {
    return refused({
      code: 'snapshot-invalid',
      message: 'The decisions do not lead from the initial state to the current one.',
      hint: 'Such a snapshot could never be resumed.',
    })
  }

  const doubtful = claimsInDoubt(state, asked, context)
  const claims = new Map(state.claims)
  for (const claim of doubtful) claims.set(claim.token, claim)
  const confirmations = pruneConfirmations(
    overlayStatuses(snapshot.confirmations, {
      confirmations: knownConfirmations(state, session.incarnation),
      claims: viewsByToken(claims),
    }),
  )
  const objection = objectionTo(confirmations, state, claims, session.incarnation)
  if (objection) return refused(objection)
  const change: SessionChange = {
    session: { ...session, cursor: snapshot.cursor, writeId: asked.writeId, initial },
    snapshot: { ...snapshot, confirmations },
    write: { writeId: asked.writeId, at: context.now },
    ...(doubtful.length > 0 && { claims: doubtful }),
  }
  return { ok: true, change }
}

function definitionMismatch({ snapshot: stored, claims }: SessionState, asked: AskedSnapshot): Objection | undefined {
  const { snapshot, upgrade } = asked
  if (!stored) return undefined
  const code = 'definition-mismatch'
  if (snapshot.definitionId !== stored.definitionId) {
    return { code, message: `This session belongs to the definition ${stored.definitionId}.` }
  }
  if (snapshot.definitionRevision < stored.definitionRevision) {
    return { code, message: `This session is at revision ${stored.definitionRevision}.`, hint: 'Update the app.' }
  }
  if (snapshot.definitionRevision === stored.definitionRevision) return undefined
  if (!upgrade) {
    return {
      code,
      message: `This session is at revision ${stored.definitionRevision}.`,
      hint: 'Move it with rejoin.sessions.upgrade(id, definition).',
    }
  }
  const open = stored.confirmations.find((each) => !isOutcome(claims.get(each.token)?.status ?? each.status))
  if (!open) return undefined
  return { code: 'claim-missing', message: `The confirmation ${open.token} is still open.`, hint: 'Reject it first.' }
}

/**
 * What a device knows of tokens that left it before a restore, rule I5. One that the server has no row for gets one; one
 * in doubt moves on to what the device saw. An unfinished one is in doubt: nobody may claim it before that is cleared.
 */
function claimsInDoubt(state: SessionState, asked: AskedSnapshot, { now }: RuleContext): readonly ClaimRecord[] {
  const tokens = new Set(asked.inDoubt)
  return asked.snapshot.confirmations.flatMap((confirmation): readonly ClaimRecord[] => {
    const { token, status, toolCallId } = confirmation
    if (!tokens.has(token)) return []
    const doubt = !isOutcome(status)
    const seen = { status, doubt, confirmation, ...(!doubt && { settledAt: now }) }
    const row = state.claims.get(token)
    if (!row) return [{ token, attempt: 0, incarnation: asked.incarnation, toolCallId, evidence: [], ...seen }]
    const later = row.doubt && row.toolCallId === toolCallId && statusRank(status) > statusRank(row.status)
    return later ? [{ ...row, ...seen, confirmation: { ...row.confirmation, status } }] : []
  })
}

/** What is stored, and what a claim created before any snapshot showed it. */
function knownConfirmations(state: SessionState, incarnation: Incarnation): readonly Confirmation[] {
  const stored = state.snapshot?.confirmations ?? []
  const shown = new Set(stored.map((confirmation) => confirmation.token))
  const created = claimsUnder(state.claims, incarnation).filter(
    ({ token, status }) => !shown.has(token) && !isOutcome(status),
  )
  return created.length === 0 ? stored : [...stored, ...created.map((claim) => claim.confirmation)]
}

/** Without a prototype: `constructor` is a fine token. */
function viewsByToken(claims: ReadonlyMap<string, ClaimRecord>): Readonly<Record<string, ClaimView>> {
  const views: Record<string, ClaimView> = Object.create(null)
  for (const [token, claim] of claims) views[token] = claimView(claim)
  return views
}

function objectionTo(
  confirmations: readonly Confirmation[],
  state: SessionState,
  claims: ReadonlyMap<string, ClaimRecord>,
  incarnation: Incarnation,
): Objection | undefined {
  if (confirmations.length > MAX_CONFIRMATIONS) {
    return { code: 'too-large', message: `More than ${MAX_CONFIRMATIONS} confirmations are open.` }
  }
  const stored = new Map(state.snapshot?.confirmations.map((each) => [each.token, each]))
  const tokenOfCall = new Map<string, string>()
  for (const claim of claimsUnder(claims, incarnation)) tokenOfCall.set(claim.toolCallId, claim.token)
  for (const { token, toolCallId, status } of confirmations) {
    if ((tokenOfCall.get(toolCallId) ?? token) !== token) {
      return { code: 'snapshot-invalid', message: `The tool call ${toolCallId} has another confirmation already.` }
    }
    tokenOfCall.set(toolCallId, token)
    const allowed = claims.get(token)?.status ?? stored.get(token)?.status
    if (allowed === undefined ? mayAppear(status) : status === allowed) continue
    return {
      code: 'claim-missing',
      message: `The confirmation ${token} is ${status}, and no claim says so.`,
      hint: 'Send the claim and its settlement first.',
    }
  }
  return undefined
}

/** What a plain PUT may bring of a token that nobody knew: a proposal, or one that was turned down at birth. */
function mayAppear(status: ConfirmationStatus): boolean {
  return status === 'pending' || status === 'rejected'
}

function refused(objection: Objection): StoredSnapshot {
  return { ok: false, objection }
}
