import { expect, test } from 'vitest'
import { applyAnswer } from '../../../src/core/apply-answer.ts'
import { acceptClaimAnswer, markTold, releaseClaim } from '../../../src/core/claim-lifecycle.ts'
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

test('I5 F20 what was refused in the earlier epoch is not refused in the next before it was asked', () => {
  const problem = { code: 'too-large', message: 'Too large.', retryable: false, at: 1 }
  const running = claimRow({ state: 'running', undeliverable: problem })
  const before = session(syncedRow(stored, { refused: { ...problem, writeId: 'messages' } }), running)
  const after = committed(before, enterEpoch(before, '2-y'))
  expect(after.row?.refused).toBeUndefined()
  expect(after.claims[0]).toMatchObject({ state: 'running', undeliverable: undefined })
})

test('I5 in a new epoch the device has no base, counts nothing as acknowledged, and keeps what left', () => {
  const before = syncedRow(stored, {
    acked: 7,
    pulled: 9,
    incoming: answer(stored),
    sent: { writeId: 'w1', snapshot: stored, ifMatch: etagAt(3), inDoubt: [] },
  })
  const after = committed(session(before), enterEpoch(session(before), '2-y'))
  expect(after.row).toEqual({
    ...row({ confirmed: true, local: stored, initial: 'idle', left: before.left }),
    epoch: '2-y',
    dirty: true,
    giveBack: true,
  })
})

test('I5 a row enters an epoch once, and none that began before its own', () => {
  const before = session(syncedRow(stored))
  const after = committed(before, enterEpoch(before, '2-y'))
  expect(enterEpoch(after, '2-y')).toEqual({ result: false })
  expect(enterEpoch(after, '1-x')).toEqual({ result: false })
  expect(enterEpoch(after, '3-z').change?.row).toMatchObject({ epoch: '3-z', giveBack: true })
})

test('I5 R5 G2 an answer of an epoch that is over gives no permission, and moves nothing of a row that left it', () => {
  const moved = { ...answer(snapshot({ cursor: 9 })), epoch: '1-x' }
  const said = (result: ClaimAnswer['result']): ClaimAnswer => ({ ...moved, result, claim: view() })
  const inNext = (claim: ReturnType<typeof claimRow>) => session(row({ local: stored, epoch: '2-y' }), claim)
  const asked = { snapshot: snapshot({ cursor: 5 }), expectedCursor: 4 }
  expect(applyAnswer(inNext(claimRow()), moved, { sessionId: 's1', epoch: '1-x', holdBack: false, now: 0 })).toEqual({
    result: { kind: 'ignored' },
  })
  expect(acceptClaimAnswer(inNext(claimRow({ state: 'sent' })), 'c1', said('won'), asked, 0)).toEqual({
    result: { kind: 'stale' },
  })
  expect(takeAssertion(inNext(claimRow({ state: 'running' })), 'c1', said('recorded'))).toEqual({ result: false })
  expect(releaseClaim(inNext(claimRow({ state: 'attention' })), 'c1', said('recorded'))).toEqual({ result: false })
  const settled = claimRow({ state: 'settled', outcome: 'approved', told: false })
  expect(markTold(inNext(settled), 'c1', said('recorded'))).toEqual({ result: false })
})

test('I5 K6 what was told and deleted in the earlier epoch is said again', () => {
  const told = claimRow({ state: 'settled', outcome: 'approved', told: true })
  const deleted = { at: 5, unsynced: true }
  const { change } = enterEpoch(session(syncedRow(stored, { deleted }), told), '2-y')
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
  expect(isUndelivered(committed(before, enterEpoch(before, '2-y')), own)).toBe(true)
})

test('a session of which only messages are known has nothing to push', () => {
  const before = session(row({ acked: 3 }))
  expect(committed(before, enterEpoch(before, '2-y')).row?.dirty).toBe(false)
  expect(enterEpoch(session(undefined), '2-y')).toEqual({ result: false })
})
