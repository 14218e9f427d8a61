import type { Snapshot } from '../contract/session-snapshot.ts'
import { outcomeOf } from '../protocol/claim-status.ts'
import type { Epoch } from '../protocol/identity.ts'
import { claimView } from './claim-order.ts'
import type { ClaimRow, ClaimState, DeviceSession } from './device-session.ts'
import { hasLeft, leftIn } from './left-tokens.ts'

const LIVE: ReadonlySet<ClaimState> = new Set(['waiting', 'sent', 'won', 'running', 'attention'])
/** This device has the permission, or used it. */
const GIVEN: ReadonlySet<ClaimState> = new Set(['won', 'running', 'attention', 'settled'])
/** What happened here shows in the token's status. */
const SHOWN: ReadonlySet<ClaimState> = new Set(['running', 'attention', 'settled'])

/** A live row still stands for its token; of each token there is at most one, rule K3. */
export function isLive(row: ClaimRow): boolean {
  return LIVE.has(row.state)
}

/** It began to run here, and nobody has said yet how that ended; taken over meanwhile, only a person asks. */
export function isUnresolved({ state, startedAt }: ClaimRow): boolean {
  return state === 'running' || (state === 'taken-over' && startedAt !== undefined)
}

export function liveClaim(session: DeviceSession, token: string): ClaimRow | undefined {
  return session.claims.find((row) => row.token === token && isLive(row))
}

export function claimById(session: DeviceSession, claimId: string): ClaimRow | undefined {
  return session.claims.find((row) => row.claimId === claimId)
}

/**
 * The attempt that this device's status of a token belongs to: its own decision's. A status that it only heard of counts
 * as the first attempt's, so that what the server says of a later one always goes before it.
 */
export function deviceAttempt(session: DeviceSession, token: string): number {
  const own = session.claims.filter((row) => row.token === token && SHOWN.has(row.state))
  return Math.max(0, ...own.map((row) => row.attempt))
}

/**
 * True if this device was given something in an earlier epoch and the server, restored since, does not know it, is in
 * doubt or does not know of whom it was: the device asserts it, rule I5. `epoch`: the one that is known.
 */
export function isForgotten({ row }: DeviceSession, claim: ClaimRow, epoch: Epoch | undefined): boolean {
  if (!row || !GIVEN.has(claim.state) || (claim.state === 'settled' && claim.told)) return false
  const view = claimView(row.claims, claim.token)
  // Another device that saw the outcome has told it first, and nobody is known to have run it.
  const unheld = view && view.claimId === undefined && view.attempt === claim.attempt
  if (view) return view.doubt || (unheld === true && view.status === outcomeOf(claim.want))
  const left = leftIn(row.left, claim.token)
  return left !== undefined && left !== epoch
}

/**
 * True if the server does not know yet what this device decided alone, how it ended, or what a restore lost, rule K9: no snapshot is sent
 * before it does. A view of the token says that it was asked, whatever it answered.
 */
export function isUndelivered({ row: session }: DeviceSession, row: ClaimRow): boolean {
  if (row.state === 'settled') return !row.told
  if (!isLive(row)) return false
  const view = session && claimView(session.claims, row.token)
  if (view) return view.doubt && GIVEN.has(row.state)
  // What was given to it by the server's answer came with a view, which only another epoch takes away.
  return row.own || (GIVEN.has(row.state) && session !== undefined && hasLeft(session.left, row.token))
}

/** The rows that nothing needs any more: over and told, and their token has left the snapshot, rule K10. */
export function outlivedClaims(claims: readonly ClaimRow[], snapshot: Snapshot): readonly string[] {
  const shown = new Set(snapshot.confirmations.map(({ token }) => token))
  return claims
    .filter((row) => !isLive(row) && !shown.has(row.token) && (row.state !== 'settled' || row.told))
    .map((row) => row.claimId)
}
