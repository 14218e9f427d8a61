import {
  acceptClaimAnswer,
  forgetTakenOver,
  giveUpWon,
  releaseClaim,
  retryRefused,
  settleClaim,
} from '../core/claim-lifecycle.ts'
import { claimView } from '../core/claim-order.ts'
import { claimById, isUnresolved } from '../core/claim-rows.ts'
import type { ClaimRow } from '../core/device-session.ts'
import { seeRuns } from '../core/late-settlements.ts'
import { hasLeft } from '../core/left-tokens.ts'
import { incarnationsOf } from '../core/save-snapshot.ts'
import { tokensInDoubt } from '../core/tokens-in-doubt.ts'
import type { ToolCalls } from '../core/tool-calls.ts'
import { RejoinError } from '../errors.ts'
import type { ToolCallFinding } from '../messages/reconcile-tool-call.ts'
import { type Outcome, outcomeOf } from '../protocol/claim-status.ts'
import { MAX_NOTE_LENGTH } from '../protocol/limits.ts'
import type { ClaimAnswer } from '../protocol/put-claim.ts'
import type { ClaimAuthority } from '../storage/claim-authority.ts'
import type { Database } from '../storage/database.ts'
import type { RunningClaims } from '../storage/running-claims.ts'
import type { LiveSessionIndex } from '../storage/session-index.ts'
import { isLong } from './attention-items.ts'

/** What a person may say of what is listed, rule K8. */
export interface AttentionActions {
  /**
   * The effect did happen: the claim is settled with its outcome, and the tool call says so. Also of a run that is listed
   * while a page is still at work on it: what that page finds later changes nothing. Of one that was taken over every
   * device hears that it may have run twice.
   *
   * @throws RejoinError `refused` for a claim that did not start, is decided, or has been running for less than 60 s.
   */
  readonly settle: (claimId: string) => Promise<void>
  /**
   * Nothing happened: the confirmation is pending again, in a further attempt, and its tool call waits again. Of a run
   * that a page is still at work on only that page may say so, since it could run the next moment: close it first. A
   * claim that won and was not carried out is given back too; it does not run by itself any more, whatever comes next. One
   * that was taken over is not listed any more.
   *
   * @throws RejoinError `refused` when the messages show that it ran, when another page is at work on it, or when the
   * server gave the permission to somebody else or does not take it back; `claim-queued` when the server has to be told
   * and cannot be reached.
   */
  readonly release: (claimId: string, note?: string) => Promise<void>
  /** Sends what was refused of a session again. */
  readonly retry: (sessionId: string) => Promise<void>
  /**
   * A restore lost what became of a confirmation, and the person has looked and says that nobody holds it: it is pending
   * again, in a further attempt. A device that ran it after all and comes back later is listed as `ran-beside`. Takes one
   * round trip, at most 5 s.
   *
   * @throws RejoinError `refused` for one that is not in doubt (any more), or that this device was given itself;
   * `claim-queued` when the server cannot be reached: nothing is stored, ask again. Rejects with the signal's reason.
   */
  readonly clearDoubt: (
    sessionId: string,
    token: string,
    options?: { readonly note?: string; readonly signal?: AbortSignal },
  ) => Promise<void>
  /** The person has seen the replaced steps of a conversation, and the runs that came beside another. */
  readonly dismiss: (sessionId: string) => Promise<void>
  /** Drops what a deleted session still holds on this device. */
  readonly discard: (sessionId: string) => Promise<void>
}

const CALL_WAIT_MS = 2000

export interface AttentionOptions {
  readonly database: Database
  readonly index: LiveSessionIndex
  readonly authority: ClaimAuthority
  readonly calls: ToolCalls
  readonly running: RunningClaims
  /** Epoch ms by this device's clock. */
  readonly now: () => number
  /** Where the messages of a session are stored, if this device has them. */
  readonly reconcileCall: (sessionId: string, toolCallId: string, finding: ToolCallFinding) => Promise<void>
}

export function createAttentionActions({
  database,
  index,
  authority,
  calls,
  running,
  now,
  reconcileCall,
}: AttentionOptions): AttentionActions {
  return {
    async settle(claimId) {
      const claim = await find(claimId)
      const { state } = await requireReconcilable(claim, isLong(claim, now()))
      const outcome: Outcome = outcomeOf(claim.want)
      // The messages first: a claim that is settled and whose call still runs would have nobody to end it. Of one that was
      // taken over the call is another attempt's.
      if (state !== 'taken-over') await reconcileCall(claim.sessionId, claim.toolCallId, findingOf(outcome))
      await database.transact(claim.sessionId, 'strict', (session) => settleClaim(session, claimId, outcome))
    },
    async release(claimId, note = 'A person said that nothing ran.') {
      await releaseOne(await find(claimId), note.slice(0, MAX_NOTE_LENGTH))
    },
    async clearDoubt(sessionId, token, { note = 'A person said that nobody holds it.', signal } = {}) {
      signal?.throwIfAborted()
      const session = await database.read(sessionId)
      const view = session.row && claimView(session.row.claims, token)
      if (!view || !tokensInDoubt(session).some((each) => each.token === token)) throw notInDoubt()
      const reachable = authority.via() === 'server'
      const asked = reachable
        ? await authority.clearDoubt({ sessionId, view }, note.slice(0, MAX_NOTE_LENGTH), signal)
        : 'unreachable'
      // Whoever cancels need not hear that there was no answer.
      if (asked === 'unreachable') signal?.throwIfAborted()
      const answer = requireAnswer(asked, 'The server is in doubt, and has to be told.')
      if (answer.result !== 'recorded') throw notInDoubt()
    },
    async retry(sessionId) {
      await database.transact(sessionId, 'strict', retryRefused)
    },
    async dismiss(sessionId) {
      await database.transact(sessionId, 'relaxed', ({ row }) =>
        row?.diverged ? { change: { row: { ...row, diverged: undefined } }, result: undefined } : { result: undefined },
      )
      await database.transact(sessionId, 'relaxed', seeRuns)
    },
    async discard(sessionId) {
      await database.transactUpdates(sessionId, 'strict', ({ row, claims }) => {
        if (!row?.deleted) return { result: undefined }
        const removeClaims = claims.map((claim) => claim.claimId)
        return { change: { row: null, removeClaims, removeUpdates: incarnationsOf(row) }, result: undefined }
      })
    },
  }

  async function find(claimId: string): Promise<ClaimRow> {
    await index.settled()
    const claim = [...index.get().values()].flatMap(({ claims }) => claims).find((each) => each.claimId === claimId)
    if (!claim) throw new RejoinError('refused', `There is no claim ${claimId} on this device.`)
    return claim
  }

  /** A run that goes on in some tab is nobody else's to reconcile, unless `whileHeld`. */
  async function requireReconcilable({ sessionId, claimId }: ClaimRow, whileHeld = false): Promise<ClaimRow> {
    const stored = claimById(await database.read(sessionId), claimId)
    if (stored?.state === 'attention') return stored
    const mayBe = stored !== undefined && isUnresolved(stored)
    if (mayBe && (whileHeld || running.has(claimId) || !(await running.isHeld(claimId)))) return stored
    throw new RejoinError(
      'refused',
      'The claim is not one to reconcile: it is decided, or a tab is still at work on it.',
      { hint: 'Wait for that tab, or close it.' },
    )
  }

  async function releaseOne(claim: ClaimRow, note: string): Promise<void> {
    const problem = { code: 'given-back', message: note.slice(0, 500), retryable: false, at: now() }
    // A page that opens meanwhile either started it before this, or finds that it may not.
    const wasWon = await database.transact(claim.sessionId, 'strict', (each) => giveUpWon(each, claim.claimId, problem))
    const { state } = wasWon ? claim : await requireReconcilable(claim)
    if (state === 'taken-over') {
      await database.transact(claim.sessionId, 'strict', (each) => forgetTakenOver(each, claim.claimId))
      return
    }
    const seen = await calls.see(claim.sessionId, claim.toolCallId, () => true, CALL_WAIT_MS)
    if (seen === 'complete') {
      throw new RejoinError('refused', 'The messages show that it ran.', { hint: 'Settle the claim instead.' })
    }
    await reconcileCall(claim.sessionId, claim.toolCallId, { kind: 'did-not-run' })
    await giveBack(claim, note)
    running.drop(claim.claimId)
  }

  async function giveBack(claim: ClaimRow, note: string): Promise<void> {
    const { sessionId, claimId, token } = claim
    const { row } = await database.read(sessionId)
    const local = claim.own && row !== undefined && !hasLeft(row.left, token)
    if (local && (await database.transact(sessionId, 'strict', (each) => releaseClaim(each, claimId, undefined))))
      return
    // The server has heard of the token: it hears of this device's own decision before that is given back.
    if (claim.own && row && claimView(row.claims, token)?.claimId !== claimId) {
      const heard = requireAnswer(await authority.claim(claim))
      await database.transact(sessionId, 'strict', (each) => acceptClaimAnswer(each, claimId, heard, undefined, now()))
    }
    const answer = requireAnswer(await authority.release(claim, note))
    if (answer.result !== 'recorded') {
      throw new RejoinError('refused', answer.problem?.message ?? 'The server gives this permission to somebody else.')
    }
  }
}

function notInDoubt(): RejoinError {
  return new RejoinError('refused', 'There is no doubt about this confirmation that a person could clear here.', {
    hint: 'Its card says where it stands.',
  })
}

function requireAnswer(
  answer: Awaited<ReturnType<ClaimAuthority['release']>>,
  untold = 'The server gave this permission and has to be told first.',
): ClaimAnswer {
  if (answer !== 'unreachable') {
    if (!('refused' in answer)) return answer
    throw new RejoinError('refused', answer.refused.message, {
      hint: answer.refused.hint ?? 'It stays listed; ask whoever runs the server.',
    })
  }
  throw new RejoinError('claim-queued', untold, {
    hint: 'Try again when there is a connection.',
  })
}

function findingOf(outcome: Outcome): ToolCallFinding {
  return outcome === 'approved'
    ? { kind: 'ran', answer: 'A person found that it had run.' }
    : { kind: 'denied', answer: 'It was denied.' }
}
