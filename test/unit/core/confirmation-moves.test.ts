import { expect, test } from 'vitest'
import type { ConfirmationStatus } from '../../../src/contract/session-snapshot.ts'
import { confirmationMoves } from '../../../src/core/confirmation-moves.ts'
import { OUTCOMES, statusRank, WANTS } from '../../../src/protocol/claim-status.ts'
import { confirmation, snapshot } from './sessions.ts'

const STATUSES = ['pending', ...WANTS, ...OUTCOMES] as const

function kind(before: ConfirmationStatus | undefined, after: ConfirmationStatus): string | undefined {
  const stored = before && snapshot({ confirmations: [confirmation({ status: before })] })
  const asked = snapshot({ confirmations: [confirmation({ status: after })] })
  return confirmationMoves(stored, asked)[0]?.kind
}

test.each(WANTS)('K2 out of pending into %s is a claim, also of a token that nobody knew', (want) => {
  expect(kind('pending', want)).toBe('claim')
  expect(kind(undefined, want)).toBe('claim')
})

test('K6 from any processing status into a terminal one is a settlement', () => {
  for (const want of WANTS) for (const outcome of OUTCOMES) expect(kind(want, outcome)).toBe('settlement')
})

test('K2 from pending straight into a terminal status nobody asked', () => {
  for (const outcome of OUTCOMES) expect(kind('pending', outcome)).toBe('unclaimed')
})

test('K9 an unknown token that is decided already comes in from the past, unless it was turned down at birth', () => {
  expect(kind(undefined, 'approved')).toBe('import')
  expect(kind(undefined, 'expired')).toBe('import')
  expect(kind(undefined, 'rejected')).toBeUndefined()
  expect(kind(undefined, 'pending')).toBeUndefined()
})

test('R7 a status that does not go on is no move', () => {
  for (const before of STATUSES) {
    for (const after of STATUSES) {
      if (statusRank(after) <= statusRank(before)) expect(kind(before, after)).toBeUndefined()
    }
  }
})

test('K2 every token that moves is named', () => {
  const stored = snapshot({
    confirmations: [confirmation({ token: 'a' }), confirmation({ token: 'b', status: 'approving' })],
  })
  const asked = snapshot({
    confirmations: [
      confirmation({ token: 'a', status: 'rejecting' }),
      confirmation({ token: 'b', status: 'approved' }),
      confirmation({ token: 'c' }),
    ],
  })
  expect(confirmationMoves(stored, asked)).toEqual([
    { kind: 'claim', confirmation: asked.confirmations[0], want: 'rejecting' },
    { kind: 'settlement', confirmation: asked.confirmations[1], outcome: 'approved' },
  ])
})
