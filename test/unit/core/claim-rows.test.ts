import { expect, test } from 'vitest'
import {
  claimById,
  deviceAttempt,
  isLive,
  isUndelivered,
  liveClaim,
  outlivedClaims,
} from '../../../src/core/claim-rows.ts'
import type { ClaimState } from '../../../src/core/device-session.ts'
import { claimRow, confirmation, row, session, snapshot, view } from './sessions.ts'

const LIVE: readonly ClaimState[] = ['waiting', 'sent', 'won', 'running', 'attention']
const OVER: readonly ClaimState[] = ['lost', 'expired', 'refused', 'withdrawn', 'released', 'taken-over']

test('K3 a row lives until it is settled, answered otherwise, or taken back', () => {
  for (const state of LIVE) expect(isLive(claimRow({ state }))).toBe(true)
  for (const state of [...OVER, 'settled'] as const) expect(isLive(claimRow({ state }))).toBe(false)
})

test('K3 the live row of a token is found among those that are over', () => {
  const lost = claimRow({ claimId: 'c0', state: 'lost' })
  const running = claimRow({ claimId: 'c1', state: 'running' })
  const held = session(row(), lost, running)
  expect(liveClaim(held, 'confirm-1')).toBe(running)
  expect(liveClaim(held, 'other')).toBeUndefined()
  expect(claimById(held, 'c0')).toBe(lost)
})

test('R7 a status that was only heard of belongs to the first attempt, our own decision to its own', () => {
  const heard = row({ claims: { 'confirm-1': view({ attempt: 3 }) } })
  expect(deviceAttempt(session(heard), 'confirm-1')).toBe(0)
  expect(deviceAttempt(session(heard, claimRow({ state: 'sent', attempt: 3 })), 'confirm-1')).toBe(0)
  expect(deviceAttempt(session(heard, claimRow({ state: 'running', attempt: 3 })), 'confirm-1')).toBe(3)
  const settled = claimRow({ claimId: 'c0', state: 'settled', attempt: 1 })
  expect(deviceAttempt(session(heard, settled, claimRow({ state: 'released', attempt: 2 })), 'confirm-1')).toBe(1)
})

test('K9 an own decision is undelivered until the server spoke of its token', () => {
  const own = claimRow({ own: true, state: 'running' })
  expect(isUndelivered(session(row(), own), own)).toBe(true)
  const heard = row({ claims: { 'confirm-1': view() } })
  expect(isUndelivered(session(heard, own), own)).toBe(false)
})

test('K9 an own decision that broke off stays undelivered, whatever the problem says', () => {
  const problem = { code: 'interrupted', message: 'The page ended.', retryable: false, at: 1 }
  const own = claimRow({ own: true, state: 'attention', problem })
  expect(isUndelivered(session(row(), own), own)).toBe(true)
})

test('K6 a settlement is undelivered until it was told, and then for good', () => {
  const settled = claimRow({ own: true, state: 'settled', outcome: 'approved' })
  const heard = row({ claims: { 'confirm-1': view({ attempt: 1, claimId: 'c2' }) } })
  expect(isUndelivered(session(heard, settled), settled)).toBe(true)
  expect(isUndelivered(session(heard), { ...settled, told: true })).toBe(false)
})

test('K9 what the server decides itself holds nothing back', () => {
  for (const state of LIVE) {
    const claim = claimRow({ state })
    expect(isUndelivered(session(row(), claim), claim)).toBe(false)
  }
})

test('K10 a row that is over goes when its token leaves the snapshot, a settlement not before it was told', () => {
  const shown = snapshot({ confirmations: [confirmation({ token: 'kept' })] })
  const rows = [
    ...LIVE.map((state) => claimRow({ claimId: state, state })),
    ...OVER.map((state) => claimRow({ claimId: state, state })),
    claimRow({ claimId: 'untold', state: 'settled' }),
    claimRow({ claimId: 'told', state: 'settled', told: true }),
    claimRow({ claimId: 'shown', state: 'settled', told: true, token: 'kept' }),
  ]
  expect(outlivedClaims(rows, shown)).toEqual([...OVER, 'told'])
})
