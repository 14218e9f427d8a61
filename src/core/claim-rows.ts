import type { ClaimRow, ClaimState, DeviceSession } from './device-session.ts'

const LIVE: ReadonlySet<ClaimState> = new Set(['waiting', 'sent', 'won', 'running', 'attention'])

/** A live row still stands for its token; of each token there is at most one, rule K3. */
export function isLive(row: ClaimRow): boolean {
  return LIVE.has(row.state)
}

export function liveClaim(session: DeviceSession, token: string): ClaimRow | undefined {
  return session.claims.find((row) => row.token === token && isLive(row))
}

export function claimById(session: DeviceSession, claimId: string): ClaimRow | undefined {
  return session.claims.find((row) => row.claimId === claimId)
}

/** The attempt that this device's status of a token belongs to. */
export function deviceAttempt(session: DeviceSession, token: string): number {
  const own = session.claims.filter((row) => row.token === token && (isLive(row) || row.state === 'settled'))
  const view = session.row?.claims[token]
  return Math.max(view?.attempt ?? 0, ...own.map((row) => row.attempt))
}

/** True if the server does not know yet what this device decided alone, rule K9: no snapshot is sent before it does. */
export function isUndelivered(session: DeviceSession, row: ClaimRow): boolean {
  if (row.state === 'settled' && !row.told) return true
  if (!row.own || row.problem || !(isLive(row) || row.state === 'settled')) return false
  return session.row?.claims[row.token]?.claimId !== row.claimId
}
