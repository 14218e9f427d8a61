import type { ConfirmationStatus } from '../contract/session-snapshot.ts'
import type { ClaimRow, ClaimState } from '../core/device-session.ts'
import { statusRank, type Want } from '../protocol/claim-status.ts'
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
  /** The device that holds the claim, where the server told. */
  readonly device?: string
  readonly label?: string
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

function infosOf(session: IndexedSession, thisDevice: string): ClaimInfo[] {
  const views = session.row?.claims ?? {}
  return (session.row?.local?.confirmations ?? []).flatMap(({ token, toolCallId, status }) => {
    const ours = latest(session.claims.filter((claim) => claim.token === token))
    const view = Object.hasOwn(views, token) ? views[token] : undefined
    if (!ours && !view && status === 'pending') return []
    const info = { sessionId: session.sessionId, token, toolCallId, status }
    const mine = ours !== undefined && !ENDED.has(ours.state) && (view?.device ?? thisDevice) === thisDevice
    return [{ ...info, mine, ...holder(view), ...decision(ours, view, status) }]
  })
}

const ENDED: ReadonlySet<ClaimState> = new Set(['lost', 'expired', 'refused', 'withdrawn', 'released', 'taken-over'])

function decision(
  ours: ClaimRow | undefined,
  view: ClaimView | undefined,
  status: ConfirmationStatus,
): Pick<ClaimInfo, 'state' | 'attempt'> & Partial<ClaimInfo> {
  if (!ours) {
    // A settled claim of a first attempt is in no answer any more: the snapshot's status may be the later word.
    const rank = Math.max(statusRank(status), view ? statusRank(view.status) : 0)
    return { state: rank === 2 ? 'settled' : 'running', attempt: view?.attempt ?? 0 }
  }
  const { claimId, want, state, attempt, problem, deviceAt } = ours
  return { claimId, want, state, attempt, at: view?.at ?? deviceAt, ...(problem && { problem }) }
}

function holder(view: ClaimView | undefined): Partial<ClaimInfo> {
  return {
    ...(view?.device !== undefined && { device: view.device }),
    ...(view?.label !== undefined && { label: view.label }),
    ...(view?.sub !== undefined && { sub: view.sub }),
    ...(view?.at !== undefined && { at: view.at }),
  }
}

function latest(claims: readonly ClaimRow[]): ClaimRow | undefined {
  return [...claims].sort((a, b) => b.deviceAt - a.deviceAt)[0]
}
