import { expect, test } from 'vitest'
import { isForgotten, isUndelivered } from '../../../src/core/claim-rows.ts'
import { enterEpoch } from '../../../src/core/enter-epoch.ts'
import { takeAssertion } from '../../../src/core/take-assertion.ts'
import type { ClaimAnswer } from '../../../src/protocol/put-claim.ts'
import {
  answer,
  claimRow,
  committed,
  confirmation,
  etagAt,
  row,
  session,
  snapshot,
  syncedRow,
  view,
} from './sessions.ts'

const stored = snapshot({ cursor: 4, confirmations: [confirmation()] })

test('I5 in a new epoch the device has no base, counts nothing as acknowledged, and keeps what left', () => {
  const before = syncedRow(stored, {
    acked: 7,
    pulled: 9,
    incoming: answer(stored),
    sent: { writeId: 'w1', snapshot: stored, ifMatch: etagAt(3), inDoubt: [] },
  })
  const after = committed(session(before), enterEpoch(session(before)))
  expect(after.row).toEqual({
    ...row({ confirmed: true, local: stored, initial: 'idle', left: before.left }),
    dirty: true,
    giveBack: true,
  })
})

test('I5 K6 what was told and deleted in the earlier epoch is said again', () => {
  const told = claimRow({ state: 'settled', outcome: 'approved', told: true })
  const deleted = { at: 5, unsynced: true }
  const { change } = enterEpoch(session(syncedRow(stored, { deleted }), told))
  expect(change?.putClaims).toEqual([{ ...told, told: false }])
  expect(change?.putDelete).toMatchObject({ kind: 'delete', incarnation: change?.row?.incarnation })
})

test('I5 what was given in an earlier epoch is asserted, until the server knows it without a doubt', () => {
  const left = { 'confirm-1': '1-x' }
  for (const state of ['won', 'running', 'attention', 'settled'] as const) {
    for (const own of [true, false]) {
      const claim = claimRow({ own, state })
      const at = (claims: Record<string, ReturnType<typeof view>>) => session(row({ left, claims }), claim)
      const known = { 'confirm-1': view() }
      expect(isForgotten(at({}), claim, '2-y')).toBe(true)
      expect(isForgotten(at({ 'confirm-1': view({ doubt: true }) }), claim, '2-y')).toBe(true)
      expect(isForgotten(at(known), claim, '2-y')).toBe(false)
      expect(isUndelivered(at({}), claim)).toBe(true)
      expect(isUndelivered(at({ 'confirm-1': view({ doubt: true }) }), claim)).toBe(true)
      expect(isUndelivered(at(known), claim)).toBe(state === 'settled')
      // In the epoch that is known the claim itself is sent again.
      expect(isForgotten(at({}), claim, '1-x')).toBe(false)
    }
  }
  for (const state of ['waiting', 'sent', 'lost', 'released', 'taken-over', 'refused'] as const) {
    const claim = claimRow({ state })
    expect(isForgotten(session(row({ left }), claim), claim, '2-y')).toBe(false)
  }
})

test('I5 an assertion that the server records lets the claim go on, any other answer ends the permission', () => {
  const running = claimRow({ state: 'running' })
  const before = session(row({ left: { 'confirm-1': '1-x' }, local: stored }), running)
  const said = (result: ClaimAnswer['result'], claim: ClaimAnswer['claim']) => ({ ...answer(stored), result, claim })
  const recorded = committed(before, takeAssertion(before, 'c1', said('recorded', view())))
  expect(recorded.claims).toEqual([running])
  expect(isUndelivered(recorded, running)).toBe(false)
  const lost = committed(before, takeAssertion(before, 'c1', said('lost', view({ claimId: 'c2', device: 'B' }))))
  expect(lost.claims).toMatchObject([{ claimId: 'c1', state: 'taken-over' }])
})

test('I5 K9 an own decision that was delivered in the earlier epoch is delivered again', () => {
  const own = claimRow({ own: true, state: 'running' })
  const before = session(syncedRow(stored, { claims: { 'confirm-1': view() } }), own)
  expect(isUndelivered(before, own)).toBe(false)
  expect(isUndelivered(committed(before, enterEpoch(before)), own)).toBe(true)
})

test('a session of which only messages are known has nothing to push', () => {
  const before = session(row({ acked: 3 }))
  expect(committed(before, enterEpoch(before)).row?.dirty).toBe(false)
  expect(enterEpoch(session(undefined))).toEqual({ result: false })
})
