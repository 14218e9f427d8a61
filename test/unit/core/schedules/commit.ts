import type { Snapshot } from '../../../../src/contract/session-snapshot.ts'
import { isLive } from '../../../../src/core/claim-rows.ts'
import { chains } from '../../../../src/core/conversation-chain.ts'
import type { ClaimState, Decided, DeviceSession, SessionRow } from '../../../../src/core/device-session.ts'
import { sameContent, sameConversation } from '../../../../src/core/same-content.ts'
import { isOutcome } from '../../../../src/protocol/claim-status.ts'
import { applyChange } from '../apply-change.ts'
import { type Device, keyOf, Violation } from './world.ts'

/** Where a decision of this device may go from each state; everything else breaks its life. */
const NEXT: Readonly<Record<ClaimState, readonly ClaimState[]>> = {
  waiting: ['sent', 'withdrawn'],
  sent: ['won', 'running', 'lost', 'expired', 'refused'],
  won: ['running', 'lost', 'taken-over'],
  running: ['attention', 'settled', 'released', 'taken-over'],
  attention: ['settled', 'released', 'taken-over', 'running'],
  settled: [],
  lost: ['attention'],
  expired: [],
  refused: ['attention'],
  withdrawn: [],
  released: ['settled'],
  'taken-over': ['settled', 'released'],
}

/** One transaction: writes what was decided, and holds every step to the rules of what is on disk. */
export function commit<T>(device: Device, { change, result }: Decided<T>): T {
  if (!change) return result
  const before = device.session
  const after = applyChange(before, change)
  device.session = after
  requireOneLiveRow(after)
  requireLife(before, after)
  if (before.row && !after.row) throw new Violation('the row of a session is gone')
  if (after.row) requireRow(before.row, after.row)
  for (const snapshot of [after.row?.local, after.row?.base?.snapshot]) {
    for (const decision of snapshot?.conversation?.decisions ?? []) device.seen.add(keyOf(decision))
  }
  return result
}

function requireOneLiveRow({ claims }: DeviceSession): void {
  const live = claims.filter(isLive).map(({ token }) => token)
  if (new Set(live).size !== live.length) throw new Violation('K3 a token has two live rows')
}

function requireLife(before: DeviceSession, after: DeviceSession): void {
  for (const claim of after.claims) {
    const was = before.claims.find(({ claimId }) => claimId === claim.claimId)
    if (was && was.state !== claim.state && !NEXT[was.state].includes(claim.state)) {
      throw new Violation(`K3 a decision went from ${was.state} to ${claim.state}`)
    }
  }
  for (const was of before.claims) {
    const gone = !after.claims.some(({ claimId }) => claimId === was.claimId)
    if (gone && isLive(was) && was.state !== 'waiting') throw new Violation(`K3 a ${was.state} decision was dropped`)
    if (gone && was.state === 'settled' && !was.told) throw new Violation('K6 a settlement was dropped untold')
  }
}

function requireRow(before: SessionRow | undefined, row: SessionRow): void {
  if (before?.confirmed && !row.confirmed) throw new Violation('confirmed went back')
  if (before?.initial !== undefined && row.initial !== before.initial)
    throw new Violation('R9 the initial state changed')
  for (const token of Object.keys(before?.left ?? {})) {
    if (row.left[token] !== before?.left[token]) throw new Violation('K1 left forgot a token')
  }
  for (const { token } of row.base?.snapshot.confirmations ?? []) {
    if (row.left[token] === undefined) throw new Violation('K1 a token of the base is not left')
  }
  if (before?.base && row.base && row.base.cursor < before.base.cursor) throw new Violation('R5 the base went back')
  if (before?.sent && row.sent && before.sent !== row.sent) throw new Violation('R3 sent was overwritten')
  if (row.local) requireLocal(before?.local, row.local, row)
  if (before?.local && !row.local) throw new Violation('the snapshot is gone')
  if (row.local && row.base && !row.dirty) requireShown(row)
}

function requireLocal(before: Snapshot | undefined, local: Snapshot, row: SessionRow): void {
  const { conversation } = local
  if (conversation && (row.initial === undefined || !chains(row.initial, conversation))) {
    throw new Violation('G6 the stored decisions do not chain')
  }
  if (!before) return
  if (local.cursor < before.cursor) throw new Violation('R1 the cursor went back')
  if (local.cursor === before.cursor && !sameContent(local, before)) throw new Violation('R1 a change kept the cursor')
  for (const { token, status } of before.confirmations) {
    const now = local.confirmations.find((each) => each.token === token)
    if (!now) throw new Violation(`a confirmation vanished: ${token}`)
    const later = (row.claims[token]?.attempt ?? 0) > 0
    if (isOutcome(status) && now.status !== status && !later) {
      throw new Violation(`R7 ${token} went from ${status} to ${now.status}`)
    }
  }
}

/** A clean row may only be ahead of its base in statuses that the server told of. */
function requireShown({ local, base }: SessionRow): void {
  if (!local || !base) return
  if (!sameConversation(local.conversation, base.snapshot.conversation)) {
    throw new Violation('R2 a clean row differs from its base')
  }
}
