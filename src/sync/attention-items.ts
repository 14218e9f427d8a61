import type { ConfirmationStatus, Decision } from '../contract/session-snapshot.ts'
import { isUnresolved } from '../core/claim-rows.ts'
import type { ClaimRow } from '../core/device-session.ts'
import type { Timers } from '../core/environment.ts'
import { unseenRuns } from '../core/late-settlements.ts'
import { leftIn } from '../core/left-tokens.ts'
import { createObservableValue, type Observable } from '../core/observable-value.ts'
import { tokensInDoubt } from '../core/tokens-in-doubt.ts'
import type { Want } from '../protocol/claim-status.ts'
import { epochStart } from '../protocol/identity.ts'
import type { Problem } from '../protocol/problem.ts'
import type { IndexedSession, LiveSessionIndex, SessionIndex } from '../storage/session-index.ts'

/** A claim that no page took, or that runs, for this long is listed, rules K7 and K8. */
export const LONG_MS = 60_000

/** Something that only a person, or the host for one, can decide. */
export type AttentionItem =
  /** A decision whose run did not end as it should. */
  | {
      readonly kind: 'claim'
      readonly sessionId: string
      readonly token: string
      readonly toolCallId: string
      readonly claimId: string
      readonly want: Want
      /**
       * `won`: for 60 s no page has carried it out. Opening the session's chat does, `release` gives it back.
       * `running`: for more than 60 s a page has been at work on it. It may still end by itself; closing that page ends it.
       * `attention`: a run broke off, or nobody saw what it did: did it run?
       * `taken-over`: the same, of an attempt that ended meanwhile: if it ran, it may have run twice.
       */
      readonly state: 'won' | 'running' | 'attention' | 'taken-over'
      /** When it won or, for the other two, began to run. Epoch ms by this device's clock. */
      readonly since: number
      /** When the person decided. Epoch ms by this device's clock. */
      readonly deviceAt: number
      readonly problem?: Problem
    }
  /**
   * A restore lost what became of a confirmation, and nobody may decide it before the device that held it is back or
   * `clearDoubt` says that nobody holds it. `since`: when the server was restored, epoch ms by its clock.
   */
  | {
      readonly kind: 'in-doubt'
      readonly sessionId: string
      readonly token: string
      readonly toolCallId: string
      readonly since: number
    }
  /**
   * An action ran under an attempt that had been given up, and its confirmation is pending again or was decided once
   * more: its effect may have happened twice. `dismiss` says that a person has looked.
   */
  | {
      readonly kind: 'ran-beside'
      readonly sessionId: string
      readonly token: string
      /** Absent: the confirmation has left the session's snapshot. */
      readonly toolCallId?: string
      /** What the confirmation stands at, beside that run. */
      readonly status: ConfirmationStatus
      /** Of the decision that ran; where, under which label, and whose it was. */
      readonly claimId: string
      readonly device: string
      readonly label?: string
      readonly sub: string
      /** When the server heard of it. Epoch ms by the server's clock. */
      readonly at: number
    }
  /** The server refused a change for good; it is still on this device. With `token`: a decision, or how it ended. */
  | { readonly kind: 'refused'; readonly sessionId: string; readonly token?: string; readonly problem: Problem }
  /** Two devices took the conversation different ways offline; these steps of this device were replaced. */
  | { readonly kind: 'conversation-diverged'; readonly sessionId: string; readonly decisions: readonly Decision[] }
  /** Deleted elsewhere with changes of this device unsent. */
  | { readonly kind: 'deleted'; readonly sessionId: string; readonly at: number }

export interface AttentionListOptions {
  readonly index: LiveSessionIndex
  /** Epoch ms by this device's clock. */
  readonly now: () => number
  readonly timers: Timers
  readonly signal: AbortSignal
}

/** What needs a person; it also changes when a minute is over and nothing else happens. */
export function createAttentionList(options: AttentionListOptions): Observable<readonly AttentionItem[]> {
  const { index, now, timers, signal } = options
  const value = createObservableValue<readonly AttentionItem[]>([])
  let timer: unknown
  const stop = index.subscribe(look)
  signal.addEventListener('abort', () => {
    stop()
    timers.clearTimeout(timer)
  })
  look()
  return { get: value.get, subscribe: value.subscribe }

  function look(): void {
    timers.clearTimeout(timer)
    const at = now()
    const wait = waitForNext(index.get(), at)
    timer = wait === undefined || signal.aborted ? undefined : timers.setTimeout(look, wait)
    const next = attentionItems(index.get(), at)
    if (JSON.stringify(next) !== JSON.stringify(value.get())) value.set(next)
  }
}

function attentionItems(index: SessionIndex, now: number): readonly AttentionItem[] {
  return [...index.values()].flatMap((session) => [...claimItems(session, now), ...sessionItems(session)])
}

/** How long until the next claim is to be listed; a clock that was put back makes it no longer than a minute. */
function waitForNext(index: SessionIndex, now: number): number | undefined {
  const due = [...index.values()]
    .flatMap(({ claims }) => claims.filter(isUnderWay))
    .map((claim) => since(claim) + LONG_MS - now)
    .filter((wait) => wait > 0)
  return due.length > 0 ? Math.min(LONG_MS, ...due) : undefined
}

function claimItems({ claims, sessionId }: IndexedSession, now: number): AttentionItem[] {
  const items: AttentionItem[] = []
  for (const claim of claims) {
    const { token, toolCallId, claimId, want, state, deviceAt, problem, undeliverable } = claim
    if (undeliverable) items.push({ kind: 'refused', sessionId, token, problem: undeliverable })
    if (state !== 'won' && state !== 'running' && state !== 'attention' && state !== 'taken-over') continue
    const brokeOff = state === 'attention' || (state === 'taken-over' && isUnresolved(claim) && problem !== undefined)
    if (!brokeOff && !isLong(claim, now)) continue
    const about = { token, toolCallId, claimId, want, state, since: since(claim), deviceAt }
    items.push({ kind: 'claim', sessionId, ...about, ...(problem && { problem }) })
  }
  return items
}

function doubtItems(session: IndexedSession): AttentionItem[] {
  const { row, sessionId } = session
  if (!row || row.deleted) return []
  return tokensInDoubt(session).map(({ token, toolCallId }) => {
    const since = epochStart(row.epoch ?? leftIn(row.left, token) ?? '')
    return { kind: 'in-doubt', sessionId, token, toolCallId, since }
  })
}

function besideItems({ row, sessionId }: IndexedSession): AttentionItem[] {
  if (!row) return []
  return unseenRuns(row).map(({ view, late: { claimId, device, label, sub, at } }) => {
    const { token, status } = view
    const toolCallId = row.local?.confirmations.find((each) => each.token === token)?.toolCallId
    const about = { token, ...(toolCallId !== undefined && { toolCallId }), status }
    return { kind: 'ran-beside', sessionId, ...about, claimId, device, ...(label !== undefined && { label }), sub, at }
  })
}

function sessionItems(session: IndexedSession): AttentionItem[] {
  const { row, sessionId, deletes } = session
  const items: AttentionItem[] = [...doubtItems(session), ...besideItems(session)]
  for (const { problem } of deletes) if (problem) items.push({ kind: 'refused', sessionId, problem })
  if (!row) return items
  if (row.refused && !row.deleted) items.push({ kind: 'refused', sessionId, problem: row.refused })
  if (row.diverged?.length) items.push({ kind: 'conversation-diverged', sessionId, decisions: row.diverged })
  if (row.deleted) items.push({ kind: 'deleted', sessionId, at: row.deleted.at })
  return items
}

function isUnderWay(claim: ClaimRow): boolean {
  return claim.state === 'won' || isUnresolved(claim)
}

/** True if the claim has been `won`, or has been running, for as long as a person may wait for it. */
export function isLong(claim: ClaimRow, now: number): boolean {
  return isUnderWay(claim) && now - since(claim) >= LONG_MS
}

/** Rows of earlier versions do not say when they won or started. */
function since({ state, deviceAt, wonAt = deviceAt, startedAt = wonAt }: ClaimRow): number {
  return state === 'won' ? wonAt : startedAt
}
