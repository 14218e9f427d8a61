import { expect, test } from 'vitest'
import type { ClaimState } from '../../../src/core/device-session.ts'
import { isHeld, settleHeld } from '../../../src/core/settle-held.ts'
import { claimRow, confirmation, row, snapshot, syncedRow } from './sessions.ts'

const approving = syncedRow(snapshot({ cursor: 4, confirmations: [confirmation({ status: 'approving' })] }))

test('K6 only a permission that was given here is settled', () => {
  const held: readonly ClaimState[] = ['running', 'attention', 'released', 'taken-over']
  for (const state of held) expect(isHeld(claimRow({ state }))).toBe(true)
  const other: readonly ClaimState[] = ['waiting', 'sent', 'won', 'lost', 'expired', 'refused', 'withdrawn', 'settled']
  for (const state of other) expect(isHeld(claimRow({ state }))).toBe(false)
})

test('K6 R2 an outcome is stored, raises the cursor, and waits to be told', () => {
  const problem = { code: 'interrupted', message: '', retryable: false, at: 1 }
  const { change, settled } = settleHeld(approving, claimRow({ state: 'attention', problem }), 'approved')
  expect(settled).toMatchObject({ state: 'settled', outcome: 'approved', told: false, problem: undefined })
  expect(change.putClaims).toEqual([settled])
  expect(change.row).toMatchObject({ dirty: true, local: { cursor: 5, confirmations: [{ status: 'approved' }] } })
})

test('K8 the outcome of an attempt that was given up is kept for the server, and changes no status', () => {
  const { change, settled } = settleHeld(approving, claimRow({ state: 'taken-over' }), 'approved')
  expect(settled).toMatchObject({ state: 'settled', attempt: 0, told: false })
  expect(change).toEqual({ putClaims: [settled] })
})

test('K6 an outcome is recorded also where there is no snapshot', () => {
  const { change, settled } = settleHeld(row(), claimRow({ state: 'running' }), 'approved')
  expect(change).toEqual({ putClaims: [settled] })
})
