import { raiseAttention, settleClaim, startWonClaim } from '../core/claim-lifecycle.ts'
import { claimById, isUnresolved } from '../core/claim-rows.ts'
import type { ClaimRow } from '../core/device-session.ts'
import type { Timers } from '../core/environment.ts'
import type { ToolCalls } from '../core/tool-calls.ts'
import { outcomeOf } from '../protocol/claim-status.ts'
import type { ClaimBook } from './claim-book.ts'
import type { Database } from './database.ts'
import type { RunningClaims } from './running-claims.ts'
import type { LiveSessionIndex } from './session-index.ts'

/** How long the outcome of a run may take to show in the tool call, rule K6. */
const OUTCOME_WAIT_MS = 2000
/** A chat that just opened has its messages a moment later: how long, and how often, it is asked again. */
const CHAT_WAIT_MS = 5000
const CHAT_AGAIN_MS = 200
/** How often a tab looks for runs whose tab died; their locks end without an event. */
const SWEEP_MS = 10_000

export interface ClaimRunnerOptions {
  readonly database: Database
  readonly index: LiveSessionIndex
  readonly book: ClaimBook
  readonly running: RunningClaims
  readonly calls: ToolCalls
  readonly timers: Timers
  readonly now: () => number
  readonly signal: AbortSignal
  readonly onError: (error: unknown) => void
}

/**
 * Runs, in exactly one page, the claims that were queued and won later (rule K7), and lists those for a person whose
 * page died in the middle (rule K8). Nothing is ever run again by itself.
 */
export function runWonClaims(options: ClaimRunnerOptions): void {
  const { database, index, book, running, calls, timers, now, signal, onError } = options
  if (signal.aborted) return
  let timer: unknown
  let looking: Promise<void> | undefined
  let again = false

  const stops = [index.subscribe(look), book.onHandlers(look)]
  signal.addEventListener('abort', () => {
    for (const stop of stops) stop()
    timers.clearTimeout(timer)
  })
  look()
  schedule()

  function schedule(): void {
    timer = timers.setTimeout(() => {
      look()
      schedule()
    }, SWEEP_MS)
  }

  function look(): void {
    again = true
    if (looking !== undefined) return
    looking = sweep()
      .catch((error: unknown) => {
        if (!signal.aborted) onError(error)
      })
      .finally(() => {
        looking = undefined
        if (again && !signal.aborted) look()
      })
  }

  async function sweep(): Promise<void> {
    again = false
    await index.ready
    // All at once, since without Web Locks the answer to "is anybody at work on it" takes its time.
    await Promise.all([...index.get().values()].flatMap(({ claims }) => claims.map(lookAt)))
  }

  async function lookAt(claim: ClaimRow): Promise<void> {
    if (claim.state === 'won') await start(claim)
    else if (isToAsk(claim) && !(await running.isHeld(claim.claimId)) && !signal.aborted) await abandon(claim)
  }

  async function start(claim: ClaimRow): Promise<void> {
    if (!book.handlerOf(claim.sessionId) || running.has(claim.claimId)) return
    if (!(await running.take(claim.claimId, { ifAvailable: true }))) return
    let started: ClaimRow | undefined
    try {
      started = await database.transact(claim.sessionId, 'strict', (session) =>
        startWonClaim(session, claim.claimId, now()),
      )
    } finally {
      // Whoever looks next, here or in another tab, has to be able to take it.
      if (!started) running.drop(claim.claimId)
    }
    if (!started) return
    // Not awaited: an effect may take its time, and other claims need not wait for it.
    run(started).catch(onError)
  }

  /** Asks the page's chat, again while it says that it has no such call yet: then nothing ran. */
  async function callHandler({ sessionId, token, toolCallId, want, attempt, claimId }: ClaimRow) {
    const until = now() + CHAT_WAIT_MS
    for (;;) {
      const result = await book.handlerOf(sessionId)?.({ token, toolCallId, want, attempt, claimId })
      if (result === 'ran' || now() >= until || signal.aborted) return result ?? 'nothing-to-run'
      await new Promise<void>((resolve) => timers.setTimeout(resolve, CHAT_AGAIN_MS))
    }
  }

  async function run(claim: ClaimRow): Promise<void> {
    const { sessionId, claimId, toolCallId, want } = claim
    try {
      const result = await callHandler(claim)
      const needsCall = want === 'approving'
      const seen =
        needsCall && result === 'nothing-to-run'
          ? 'absent'
          : await calls.see(sessionId, toolCallId, isOutcome, OUTCOME_WAIT_MS)
      // A denial needs no call: it may be gone with its message.
      const gone = !needsCall && seen === 'absent'
      if (result === 'nothing-to-run' && !gone) {
        return await raise(claim, 'nothing-to-run', 'The chat had no such call waiting.')
      }
      if (!isOutcome(seen) && seen !== 'unknown' && !gone) {
        return await raise(claim, 'nothing-to-run', 'No outcome was seen in the tool call.')
      }
      await database.transact(sessionId, 'strict', (session) => settleClaim(session, claimId, outcomeOf(want)))
    } catch (error) {
      await raise(claim, 'interrupted', error instanceof Error ? error.message : 'The run broke off.')
    } finally {
      running.drop(claimId)
    }
  }

  async function abandon(claim: ClaimRow): Promise<void> {
    const row = claimById(await database.read(claim.sessionId), claim.claimId)
    if (row && isToAsk(row)) await raise(row, 'interrupted', 'The page that ran it ended before it was done.')
  }

  async function raise(claim: ClaimRow, code: string, message: string): Promise<void> {
    const problem = { code, message: message.slice(0, 500), retryable: false, at: now() }
    await database.transact(claim.sessionId, 'strict', (session) => raiseAttention(session, claim.claimId, problem))
  }
}

/** It began to run in a page, and how that ended is not on record, nor listed for a person. */
function isToAsk(claim: ClaimRow): boolean {
  return isUnresolved(claim) && (claim.state === 'running' || claim.problem === undefined)
}

function isOutcome(call: string): boolean {
  return call === 'complete' || call === 'error'
}
