import { expect, test } from 'vitest'
import { isUndelivered } from '../../../src/core/claim-rows.ts'
import { enterEpoch } from '../../../src/core/enter-epoch.ts'
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
  })
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
