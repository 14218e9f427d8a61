import { decodeSnapshot } from '../contract/decode-snapshot.ts'
import type { LiveSessionStorage } from '../contract/live-session-storage.ts'
import { isSafeId } from '../contract/safe-id.ts'
import type { Confirmation, ConfirmationStatus, Decision, Snapshot } from '../contract/session-snapshot.ts'
import { acceptClaimAnswer, raiseAttention } from '../core/claim-lifecycle.ts'
import { claimById, liveClaim } from '../core/claim-rows.ts'
import type { ClaimRow, Decided } from '../core/device-session.ts'
import type { Environment } from '../core/environment.ts'
import {
  incarnationsOf,
  refuseLeftover,
  type SaveOutcome,
  type SaveRequest,
  saveSnapshot,
} from '../core/save-snapshot.ts'
import { isHeld } from '../core/settle-held.ts'
import type { ToolCalls } from '../core/tool-calls.ts'
import { RejoinError } from '../errors.ts'
import type { Incarnation } from '../protocol/identity.ts'
import type { ClaimAuthority } from './claim-authority.ts'
import type { ClaimBook } from './claim-book.ts'
import type { Database } from './database.ts'
import type { DecidingTabs } from './deciding-tabs.ts'
import type { RunningClaims } from './running-claims.ts'

/** How long a save waits for a tool call to be seen, rules K2 and K6. */
const CALL_WAIT_MS = 2000

export interface SessionStorageOptions {
  readonly database: Database
  readonly environment: Pick<Environment, 'now' | 'newId' | 'timers'>
  readonly authority: ClaimAuthority
  readonly running: RunningClaims
  readonly decidingTabs: DecidingTabs
  readonly calls: ToolCalls
  readonly claims: ClaimBook
  readonly now: () => number
  /** Ends every operation of this storage. */
  readonly signal: AbortSignal
}

/** Whatever is saved at this cursor until the next task stands on a click that was taken back, rule R10. */
interface Leftover {
  readonly expectedCursor: number | undefined
}

const NEEDS_OUTCOME: ReadonlySet<ConfirmationStatus> = new Set(['approved', 'rejected'])

type Ask = Extract<SaveOutcome, { kind: 'needs-claim' }>

/**
 * Session snapshots in the account's database: compare-and-set in one transaction, claims decided before `true` is said.
 *
 * Beyond the contract of `SessionStorage`, `save` rejects with a `RejoinError`: `snapshot-invalid`,
 * `definition-mismatch`, `nothing-to-run` (no such call waits), `claim-queued` (the server decides and cannot be
 * reached; the click is kept), `refused`, `deleted` (a new session under the id of a deleted one whose unsynced work is still
 * here), `storage-full`, `storage-unavailable`, `closed`.
 */
export function createSessionStorage(options: SessionStorageOptions): Required<LiveSessionStorage> {
  const { database, environment, authority, running, decidingTabs, calls, claims, signal: lifetime } = options
  const incarnations = new Map<string, Incarnation>()
  const leftovers = new Map<string, Leftover>()

  return {
    async load(sessionId, signal) {
      requireOpen(signal)
      requireSessionId(sessionId)
      const stored = await readLocal(sessionId)
      if (stored) return stored
      await authority.firstLoad(sessionId, signal)
      requireOpen(signal)
      return readLocal(sessionId)
    },

    async save(snapshot, expectedCursor, signal) {
      requireOpen(signal)
      const decoded = decodeSnapshot(snapshot)
      if (!decoded.ok) throw new RejoinError('snapshot-invalid', decoded.diagnostic.message)
      // Before the commit, so that whoever reads it finds that this tab lives.
      decidingTabs.enter(decoded.snapshot.sessionId, decisionsOf(decoded.snapshot))
      return save(decoded.snapshot, expectedCursor, signal)
    },

    async delete(sessionId, signal) {
      requireOpen(signal)
      requireSessionId(sessionId)
      const ended = await database.transactUpdates(sessionId, 'strict', ({ row, claims: rows }) => {
        if (!row) return { result: [] }
        const { incarnation } = row
        const removal = { kind: 'delete' as const, sessionId, incarnation, deviceAt: environment.now() }
        const removeClaims = rows.map((claim) => claim.claimId)
        return {
          change: {
            row: null,
            removeUpdates: incarnationsOf(row),
            removeClaims,
            ...((row.confirmed || authority.via() !== 'device') && { putDelete: removal }),
          },
          result: removeClaims,
        }
      })
      incarnations.delete(sessionId)
      for (const claimId of ended) running.drop(claimId)
    },

    watch(sessionId, listener) {
      return database.subscribe((event) => {
        if (event.kind === 'session' && event.sessionId === sessionId) listener()
      })
    },

    now: options.now,
    claims,
  }

  async function readLocal(sessionId: string): Promise<Snapshot | undefined> {
    const { row } = await database.read(sessionId)
    if (!row?.local || row.deleted) {
      // What this tab knew is over: what it saves next begins anew, rule I3.
      incarnations.delete(sessionId)
      return undefined
    }
    const decoded = decodeSnapshot(row.local)
    if (!decoded.ok) {
      throw new RejoinError('storage-corrupt', 'The stored snapshot of this session cannot be read.', {
        hint: 'Export what is readable, then delete the session here and load it from the server again.',
      })
    }
    incarnations.set(sessionId, row.incarnation)
    decidingTabs.read(sessionId, decisionsOf(decoded.snapshot))
    return decoded.snapshot
  }

  async function save(snapshot: Snapshot, expectedCursor: number | undefined, signal?: AbortSignal): Promise<boolean> {
    const { sessionId } = snapshot
    const request: SaveRequest = {
      snapshot,
      expectedCursor,
      knownIncarnation: incarnations.get(sessionId),
      newIncarnation: environment.newId(),
    }
    return isLeftover(request) ? settle(request, refuseLeftover) : decide(request, signal)
  }

  async function decide(request: SaveRequest, signal?: AbortSignal): Promise<boolean> {
    const { sessionId } = request.snapshot
    const outcome = await database.transact(sessionId, 'relaxed', (session) =>
      plainOnly(saveSnapshot(session, request)),
    )
    switch (outcome.kind) {
      case 'stored':
        incarnations.set(sessionId, outcome.incarnation)
        decidingTabs.stored(sessionId, decisionsOf(request.snapshot))
        return true
      case 'conflict':
        return false
      case 'settle':
        return settle(request)
      case 'needs-lease':
        return takeTurn(request, outcome, signal)
      case 'needs-claim':
        return rememberRejection(request, () => claim(request, outcome, signal))
      case 'queued':
        return rememberRejection(request, () => Promise.reject(queued()))
      case 'ask':
      case 'run':
        throw new Error('A claim was decided without a route.')
    }
  }

  /** A claim save: permission to run is `true`, and only the transaction that moved the row to `running` says it. */
  async function claim(request: SaveRequest, { confirmation, want }: Ask, signal?: AbortSignal): Promise<boolean> {
    const { sessionId } = request.snapshot
    const { token, toolCallId } = confirmation
    // What expired is over whatever became of its call, and a rejection needs none: it may be gone with its message.
    if (want !== 'expiring') {
      const seen = await calls.see(sessionId, toolCallId, (call) => call === 'requires_confirmation', CALL_WAIT_MS)
      const gone = want === 'rejecting' && seen === 'absent'
      if (seen !== 'requires_confirmation' && seen !== 'unknown' && !gone) throw nothingToRun(toolCallId)
    }
    requireOpen(signal)
    const claimId = environment.newId()
    await running.take(claimId)
    let runs = false
    try {
      const route = {
        claimId,
        via: authority.via(),
        lasting: database.persistent,
        deviceAt: environment.now(),
        foreign: !claims.isOurs(sessionId),
      }
      const outcome = await database.transact(sessionId, 'strict', (s) => saveSnapshot(s, { ...request, route }))
      if (outcome.kind === 'run') {
        incarnations.set(sessionId, outcome.claim.incarnation)
        runs = true
      } else if (outcome.kind === 'ask') runs = await ask(request, outcome.claim, signal)
      else if (outcome.kind === 'queued') throw queued()
      else if (outcome.kind !== 'conflict') throw new Error(`A claim of ${token} ended as ${outcome.kind}.`)
      return runs
    } finally {
      if (!runs) running.drop(claimId)
    }
  }

  async function ask(request: SaveRequest, row: ClaimRow, signal?: AbortSignal): Promise<boolean> {
    const { snapshot, expectedCursor } = request
    const answer = await authority.claim(row, signal)
    if (answer === 'unreachable') return unanswered(row)
    const asked = { snapshot, expectedCursor }
    const outcome = await database.transact(row.sessionId, 'strict', (session) =>
      acceptClaimAnswer(session, row.claimId, answer, asked, environment.now()),
    )
    authority.received(row.sessionId, answer)
    switch (outcome.kind) {
      case 'run':
        return true
      case 'lost':
        return false
      case 'refused':
        throw new RejoinError('refused', answer.problem?.message ?? 'The server refused the decision.', {
          hint: answer.problem?.hint ?? 'The confirmation is still there; rejoin.claims shows why.',
        })
      case 'won':
      case 'stale':
        throw queued()
    }
  }

  /** No answer to the claim: it is queued, unless the server cannot take it at all, or the session is gone. */
  async function unanswered(asked: ClaimRow): Promise<false> {
    const session = await database.read(asked.sessionId)
    if (!session.row || session.row.deleted) return false
    const row = claimById(session, asked.claimId)
    if (row?.state !== 'refused') throw queued()
    throw new RejoinError('refused', row.problem?.message ?? 'The server refused the decision.', {
      hint: row.problem?.hint ?? 'The confirmation is still there and may be decided again.',
    })
  }

  /** The outcome is seen in the tool call before it is recorded, rules K6 and G3. */
  async function settle(request: SaveRequest, decideSave: typeof saveSnapshot = saveSnapshot): Promise<boolean> {
    const { sessionId } = request.snapshot
    const before = await database.read(sessionId)
    for (const confirmation of request.snapshot.confirmations) {
      const row = liveClaim(before, confirmation.token)
      if (!row || !isHeld(row) || !NEEDS_OUTCOME.has(confirmation.status)) continue
      if (await wasSeen(sessionId, confirmation)) continue
      await raise(row, nothingToRun(row.toolCallId))
      throw nothingToRun(row.toolCallId)
    }
    const outcome = await database.transact(sessionId, 'strict', (session) => decideSave(session, request))
    if (outcome.kind === 'settled' || outcome.kind === 'recorded') running.drop(outcome.claim.claimId)
    return outcome.kind === 'settled' || outcome.kind === 'stored'
  }

  async function wasSeen(sessionId: string, { toolCallId, status }: Confirmation): Promise<boolean> {
    const seen = await calls.see(sessionId, toolCallId, (call) => call === 'complete' || call === 'error', CALL_WAIT_MS)
    const gone = status === 'rejected' && seen === 'absent'
    return seen === 'complete' || seen === 'error' || seen === 'unknown' || gone
  }

  async function raise(row: ClaimRow, error: RejoinError): Promise<void> {
    const problem = { code: error.code, message: error.message, retryable: false, at: environment.now() }
    await database.transact(row.sessionId, 'strict', (session) => raiseAttention(session, row.claimId, problem))
    running.drop(row.claimId)
  }

  async function takeTurn(
    request: SaveRequest,
    { turnId, expiresAt, incarnation }: Extract<SaveOutcome, { kind: 'needs-lease' }>,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const { sessionId } = request.snapshot
    const leaseMs = Math.max(1, Math.round(expiresAt - options.now()))
    const answer =
      authority.via() === 'server'
        ? await authority.takeTurn({ sessionId, incarnation, turnId, leaseMs }, signal)
        : 'unreachable'
    const lease =
      answer === 'unreachable' ? { granted: true } : { granted: answer.granted, lease: answer.lease ?? undefined }
    // The same save may also decide something: it goes the same way as any other.
    return decide({ ...request, lease, newIncarnation: incarnation }, signal)
  }

  /**
   * What upstream's queue sends right after a rejected claim stands for a click that it no longer shows, rule R10. Our own
   * layer takes back no more than the token that was rejected.
   */
  function isLeftover({ snapshot: { sessionId }, expectedCursor }: SaveRequest): boolean {
    if (claims.isOurs(sessionId)) return false
    const leftover = leftovers.get(sessionId)
    return leftover !== undefined && leftover.expectedCursor === expectedCursor
  }

  /** Until the next task, a save at the same cursor as a rejected claim is a leftover of it, rule R10. */
  async function rememberRejection<T>(request: SaveRequest, decideClaim: () => Promise<T>): Promise<T> {
    try {
      return await decideClaim()
    } catch (error) {
      const { sessionId } = request.snapshot
      const leftover = { expectedCursor: request.expectedCursor }
      leftovers.set(sessionId, leftover)
      environment.timers.setTimeout(() => {
        if (leftovers.get(sessionId) === leftover) leftovers.delete(sessionId)
      }, 0)
      throw error
    }
  }

  function queued(): RejoinError {
    return new RejoinError('claim-queued', 'The decision waits for the server.', {
      hint: 'It is kept on this device and sent when there is a connection; rejoin.claims shows it.',
    })
  }

  function requireOpen(signal: AbortSignal | undefined): void {
    if (lifetime.aborted) throw new RejoinError('closed', 'This Rejoin is closed.')
    signal?.throwIfAborted()
  }
}

/** Settlements are committed strictly; a relaxed transaction hands them back unwritten. */
function plainOnly(
  decided: Decided<SaveOutcome>,
): Decided<Exclude<SaveOutcome, { kind: 'settled' | 'recorded' }> | { kind: 'settle' }> {
  const { result } = decided
  if (result.kind === 'settled' || result.kind === 'recorded') return { result: { kind: 'settle' } }
  return { ...decided, result }
}

function decisionsOf({ conversation }: Snapshot): readonly Decision[] {
  return conversation?.decisions ?? []
}

function nothingToRun(toolCallId: string): RejoinError {
  return new RejoinError('nothing-to-run', `No tool call ${toolCallId} waits for a decision on this device.`, {
    hint: 'Its message may not have arrived yet; nothing was claimed and nothing ran.',
  })
}

function requireSessionId(sessionId: string): void {
  if (!isSafeId(sessionId)) {
    throw new RejoinError('snapshot-invalid', 'A session id has 1 to 128 characters of A-Z a-z 0-9 . _ : and -.')
  }
}
