import { acceptClaimAnswer, markTold, refuseClaim, releaseClaim, sendClaim } from '../core/claim-lifecycle.ts'
import { claimView } from '../core/claim-order.ts'
import { claimById, isForgotten, isUndelivered } from '../core/claim-rows.ts'
import type { ClaimRow, DeviceSession, SessionRow } from '../core/device-session.ts'
import { leftIn } from '../core/left-tokens.ts'
import { takeAssertion } from '../core/take-assertion.ts'
import type { Epoch } from '../protocol/identity.ts'
import type { Problem } from '../protocol/problem.ts'
import type { ClaimAnswer, PutClaim } from '../protocol/put-claim.ts'
import type { ClaimAuthority } from '../storage/claim-authority.ts'
import type { RemoteChanges } from './apply-remote.ts'
import { createExchange } from './exchange.ts'
import type { SyncContext } from './sync-context.ts'

/** A claim inside a save waits this long for its answer, rule K10. */
export const CLAIM_TIMEOUT_MS = 5000

export interface ClaimDispatch {
  /** Sends what is queued, asks again what was not answered, tells what was settled. False: the server is out of reach. */
  readonly dispatch: (sessionId: string) => Promise<boolean>
  /** One round trip for a row that is `sent`. */
  readonly ask: (row: ClaimRow, signal?: AbortSignal) => Promise<ClaimAnswer | 'unreachable'>
  readonly release: (row: ClaimRow, note: string) => Promise<ClaimAnswer | Refusal | 'unreachable'>
  readonly clearDoubt: ClaimAuthority['clearDoubt']
}

/** The server will never take this request, rule K4: asking again changes nothing. */
interface Refusal {
  readonly refused: Problem
}

/** Carries this device's decisions to the server, rules K3, K4 and K6. Asking twice is harmless: the `claimId` is the same. */
export function createClaimDispatch(context: SyncContext, remote: RemoteChanges): ClaimDispatch {
  const { database, client, running } = context
  const exchange = createExchange(context)
  return { dispatch, ask, release, clearDoubt }

  async function dispatch(sessionId: string): Promise<boolean> {
    const session = await database.read(sessionId)
    for (const claim of session.claims) {
      const due = whatIsDue(session, claim, context.meta().epoch)
      if (!due.first && !due.tell) continue
      if (await waitsForMessage(claim)) continue
      if (due.first === 'assert' && !(await assertHeld(claim))) return false
      if (due.first === 'deliver' && !(await deliver(claim))) return false
      if (due.tell && !(await tell(claim))) return false
    }
    return true
  }

  async function deliver(claim: ClaimRow): Promise<boolean> {
    const { sessionId, claimId } = claim
    // A save that waits for this answer holds the lock: the answer is its to take.
    if (claim.state === 'sent' && (await running.isHeld(claimId))) return true
    const sent = await database.transact(sessionId, 'strict', (session) =>
      sendClaim(session, claimId, context.meta().epoch),
    )
    if (!sent) return true
    const answer = await putClaim(sent)
    if (answer === 'unreachable') return false
    if ('refused' in answer) return keepRefusal(sent, answer)
    await database.transact(sessionId, 'strict', (session) =>
      acceptClaimAnswer(session, claimId, answer, undefined, context.environment.now()),
    )
    await remote.receive(sessionId, answer)
    return true
  }

  /**
   * A claim that makes its token there waits until the server has the messages of this device, rule K2: other devices could
   * not show what was decided. While they are refused, it is too.
   */
  async function waitsForMessage({ sessionId, token }: ClaimRow): Promise<boolean> {
    const { row } = await database.read(sessionId)
    if (!row || isKnownThere(row, token)) return false
    return (await database.updates(sessionId, { afterSeq: row.acked, origin: 'local' })).length > 0
  }

  async function ask(row: ClaimRow, signal?: AbortSignal): Promise<ClaimAnswer | 'unreachable'> {
    if (await waitsForMessage(row)) return 'unreachable'
    const answer = await putClaim(row, signal)
    if (answer === 'unreachable' || !('refused' in answer)) return answer
    await keepRefusal(row, answer)
    return 'unreachable'
  }

  /** True: there is nothing to try again. */
  async function keepRefusal({ sessionId, claimId }: ClaimRow, { refused }: Refusal): Promise<true> {
    await database.transact(sessionId, 'strict', (session) => refuseClaim(session, claimId, refused))
    return true
  }

  async function putClaim(row: ClaimRow, signal?: AbortSignal): Promise<ClaimAnswer | Refusal | 'unreachable'> {
    const session = (await database.read(row.sessionId)).row
    const body: PutClaim = {
      op: 'claim',
      incarnation: session?.incarnation ?? row.incarnation,
      claimId: row.claimId,
      want: row.want,
      confirmation: row.confirmation,
      // Of its own decision this device says that nobody else could hold it.
      leftIn: row.own || !session ? null : (leftIn(session.left, row.token) ?? null),
    }
    return put(row, body, signal)
  }

  /** A restored server is told what this device was given before, rule I5. */
  async function assertHeld(claim: ClaimRow): Promise<boolean> {
    const { sessionId, claimId, attempt, want, confirmation } = claim
    const { row } = await database.read(sessionId)
    const incarnation = row?.incarnation ?? claim.incarnation
    const body: PutClaim = { op: 'assert', incarnation, claimId, attempt, want, confirmation }
    const answer = await put(claim, body)
    if (answer === 'unreachable') return false
    if ('refused' in answer) return keepRefusal(claim, answer)
    await database.transact(sessionId, 'strict', (session) => takeAssertion(session, claimId, answer))
    await remote.receive(sessionId, answer)
    return true
  }

  async function tell(claim: ClaimRow): Promise<boolean> {
    const { sessionId, claimId, outcome } = claim
    const session = await database.read(sessionId)
    if (!outcome || claimById(session, claimId)?.undeliverable) return true
    const { row } = session
    const incarnation = row?.incarnation ?? claim.incarnation
    const answer = await put(claim, { op: 'settle', incarnation, claimId, attempt: claim.attempt, outcome })
    if (answer === 'unreachable') return false
    if ('refused' in answer) return keepRefusal(claim, answer)
    await database.transact(sessionId, 'strict', (session) => markTold(session, claimId, answer))
    await remote.receive(sessionId, answer)
    return true
  }

  async function release(row: ClaimRow, note: string): Promise<ClaimAnswer | Refusal | 'unreachable'> {
    const session = (await database.read(row.sessionId)).row
    const incarnation = session?.incarnation ?? row.incarnation
    const answer = await put(row, { op: 'release', incarnation, claimId: row.claimId, attempt: row.attempt, note })
    if (answer === 'unreachable' || 'refused' in answer) return answer
    await database.transact(row.sessionId, 'strict', (each) => releaseClaim(each, row.claimId, answer))
    await remote.receive(row.sessionId, answer)
    return answer
  }

  /** Said by a person of what nobody here holds: there is no row of it, and no lock. */
  async function clearDoubt(
    { sessionId, view: { token, attempt } }: Parameters<ClaimAuthority['clearDoubt']>[0],
    note: string,
    signal?: AbortSignal,
  ): Promise<ClaimAnswer | Refusal | 'unreachable'> {
    const { row } = await database.read(sessionId)
    if (!row) return 'unreachable'
    const claimId = context.environment.newId()
    const body: PutClaim = { op: 'clear-doubt', incarnation: row.incarnation, claimId, attempt, note }
    const answer = await put({ sessionId, token }, body, signal)
    if (answer === 'unreachable' || 'refused' in answer) return answer
    await remote.receive(sessionId, answer)
    return answer
  }

  async function put(
    row: Pick<ClaimRow, 'sessionId' | 'token'>,
    body: PutClaim,
    signal?: AbortSignal,
  ): Promise<ClaimAnswer | Refusal | 'unreachable'> {
    const options = { timeoutMs: CLAIM_TIMEOUT_MS, signal }
    const reply = await exchange(row.sessionId, () => client.putClaim(row.sessionId, row.token, body, options))
    if (reply.kind === 'answer') return (await remote.hear(reply.body)) ? reply.body : 'unreachable'
    if (reply.kind !== 'problem') return 'unreachable'
    const { status, problem, current } = reply
    if (status === 410) await remote.deleted(row.sessionId)
    else if (problem.code === 'other-incarnation' && current) {
      // Not awaited: a save may wait for this answer, and its messages can take their time.
      remote.receive(row.sessionId, current).catch(context.onError)
    } else if (!problem.retryable && status < 500 && status !== 401) return { refused: problem }
    return 'unreachable'
  }
}

/** What the server is to hear of a claim: that it is held or wanted, and then how it ended. */
function whatIsDue(
  session: DeviceSession,
  claim: ClaimRow,
  epoch: Epoch | undefined,
): { readonly first?: 'assert' | 'deliver'; readonly tell: boolean } {
  if (claim.undeliverable) return { tell: false }
  const tell = claim.state === 'settled' && !claim.told
  if (isForgotten(session, claim, epoch)) return { first: 'assert', tell }
  const undelivered = claim.own ? isUndelivered(session, claim) : claim.state === 'waiting' || claim.state === 'sent'
  return undelivered ? { first: 'deliver', tell } : { tell }
}

function isKnownThere({ base, claims }: SessionRow, token: string): boolean {
  return (
    claimView(claims, token) !== undefined || (base?.snapshot.confirmations ?? []).some((each) => each.token === token)
  )
}

/** True if the session has decisions that the server has not heard of, or has not answered, and did not refuse for good. */
export function hasUnsentClaims(session: DeviceSession): boolean {
  return session.claims.some(
    (claim) =>
      !claim.undeliverable && (claim.state === 'waiting' || claim.state === 'sent' || isUndelivered(session, claim)),
  )
}
