import type { ConfirmationStatus, Snapshot } from '../contract/session-snapshot.ts'
import { statusRank } from '../protocol/claim-status.ts'
import type { ClaimView } from '../protocol/claim-view.ts'

/** Token → what the server last told of its claim. */
export type ClaimViews = Readonly<Record<string, ClaimView>>

/** Own keys only: `constructor` is a fine token. */
export function claimView(views: ClaimViews, token: string): ClaimView | undefined {
  return Object.hasOwn(views, token) ? views[token] : undefined
}

export interface AttemptedStatus {
  readonly status: ConfirmationStatus
  readonly attempt: number
}

/** The later of two statuses by (attempt, rank), rule R7; `theirs`, the server's, where they are level. */
export function laterStatus(ours: AttemptedStatus, theirs: AttemptedStatus): AttemptedStatus {
  if (ours.attempt !== theirs.attempt) return ours.attempt > theirs.attempt ? ours : theirs
  return statusRank(ours.status) > statusRank(theirs.status) ? ours : theirs
}

/**
 * The views after an answer of a session: those that it lists, and the others as its snapshot shows them. A claim that is
 * settled in its first attempt is not listed any more, and its holder stays worth knowing.
 */
export function takeClaimViews(known: ClaimViews, { claims, snapshot }: AnsweredClaims): ClaimViews {
  const listed = new Set(claims.map(({ token }) => token))
  const settled = (snapshot?.confirmations ?? []).flatMap(({ token, status }) => {
    const view = claimView(known, token)
    return view && !listed.has(token) && statusRank(status) === 2 ? [{ ...view, status, doubt: false }] : []
  })
  return mergeClaimViews(known, [...claims, ...settled])
}

interface AnsweredClaims {
  readonly claims: readonly ClaimView[]
  readonly snapshot: Snapshot | null
}

/** The views after an answer: a view only ever moves on within an epoch, and what came late stays on record. */
export function mergeClaimViews(known: ClaimViews, answered: readonly ClaimView[]): ClaimViews {
  if (answered.length === 0) return known
  const merged = new Map(Object.entries(known))
  for (const view of answered) {
    const before = merged.get(view.token)
    const next = before && laterStatus(before, view) === before ? before : view
    const late = longer(before?.late, view.late)
    merged.set(view.token, late === next.late ? next : { ...next, late })
  }
  return Object.fromEntries(merged)
}

function longer<T>(a: readonly T[] | undefined, b: readonly T[] | undefined): readonly T[] | undefined {
  return (a?.length ?? 0) > (b?.length ?? 0) ? a : b
}
