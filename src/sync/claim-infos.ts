import type { ConfirmationStatus } from '../contract/session-snapshot.ts'
import { claimView, laterStatus } from '../core/claim-order.ts'
import { isLive } from '../core/claim-rows.ts'
import type { ClaimRow, ClaimState } from '../core/device-session.ts'
import { isOutcome, type Want } from '../protocol/claim-status.ts'
import type { ClaimView } from '../protocol/claim-view.ts'
import type { Problem } from '../protocol/problem.ts'
import type { IndexedSession, SessionIndex } from '../storage/session-index.ts'

/** Who decided what about a confirmation, and how far that is; what a card shows. */
export interface ClaimInfo {
  readonly sessionId: string
  readonly token: string
  readonly toolCallId: string
  /** Of this device's own decision; absent: another device's. */
  readonly claimId?: string
  readonly want?: Want
  /** As the snapshot on this device shows it. */
  readonly status: ConfirmationStatus
  readonly state: ClaimState
  /** This device's decision is the one that stands. */
  readonly mine: boolean
  /** The device that holds the claim, or held it, and its label; where the server told. */
  readonly device?: string
  readonly label?: string
  /** The person who decided, as the access token named them to the server. */
  readonly sub?: string
  /** Epoch ms: by the server's clock where it told, else by this device's. */
  readonly at?: number
  readonly attempt: number
  readonly problem?: Problem
}

/** All confirmations that somebody decided, or is deciding. */
export function claimInfos(index: SessionIndex, thisDevice: string): readonly ClaimInfo[] {
  return [...index.values()].flatMap((session) => infosOf(session, thisDevice))
}

function infosOf({ sessionId, row, claims }: IndexedSession, thisDevice: string): ClaimInfo[] {
  return (row?.local?.confirmations ?? []).flatMap(({ token, toolCallId, status }) => {
    const view = claimView(row?.claims ?? {}, token)
    const ours = currentClaim(claims, token, view)
    // What others do in a session that was deleted is not told here any more.
    if (!ours && row?.deleted) return []
    const state = ours?.state ?? stateElsewhere(status, view)
    if (state === 'pending') return []
    const info = { sessionId, token, toolCallId, status, state, attempt: ours?.attempt ?? view?.attempt ?? 0 }
    const mine = ours !== undefined && !ENDED.has(ours.state) && (view?.device ?? thisDevice) === thisDevice
    return [{ ...info, mine, ...(ours && decision(ours)), ...holder(view) }]
  })
}

const ENDED: ReadonlySet<ClaimState> = new Set(['lost', 'expired', 'refused', 'withdrawn', 'released', 'taken-over'])

/** This device's decision, unless it is over and of an earlier attempt: the token is somebody else's by now, or nobody's. */
function currentClaim(claims: readonly ClaimRow[], token: string, view: ClaimView | undefined): ClaimRow | undefined {
  const ours = claims
    .filter((claim) => claim.token === token)
    .sort((a, b) => b.attempt - a.attempt || b.deviceAt - a.deviceAt)[0]
  return ours && !isLive(ours) && view && view.attempt > ours.attempt ? undefined : ours
}

function stateElsewhere(status: ConfirmationStatus, view: ClaimView | undefined): 'pending' | 'running' | 'settled' {
  const known = view ? laterStatus({ status, attempt: 0 }, view).status : status
  if (known === 'pending') return 'pending'
  return isOutcome(known) ? 'settled' : 'running'
}

function decision({ claimId, want, problem, deviceAt }: ClaimRow): Partial<ClaimInfo> {
  return { claimId, want, at: deviceAt, ...(problem && { problem }) }
}

function holder(view: ClaimView | undefined): Partial<ClaimInfo> {
  return {
    ...(view?.device !== undefined && { device: view.device }),
    ...(view?.label !== undefined && { label: view.label }),
    ...(view?.sub !== undefined && { sub: view.sub }),
    ...(view?.at !== undefined && { at: view.at }),
  }
}
