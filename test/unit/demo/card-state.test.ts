import type { ToolCall } from '@agentskit/core'
import type { ActionConfirmation, ClaimInfo } from 'rejoin'
import { expect, test } from 'vitest'
import { cardState } from '../../../demo/src/card-state.ts'

const call: ToolCall = { id: 'app-1', name: 'refund', args: {}, status: 'requires_confirmation' }

function record(status: ActionConfirmation['status'], more: Partial<ActionConfirmation> = {}): ActionConfirmation {
  const known = { token: 'confirm-1', sessionId: 's', action: 'refund', input: {}, toolCallId: 'app-1' }
  return { ...known, expiresAt: 1000, status, ...more }
}

function claim(state: ClaimInfo['state'], more: Partial<ClaimInfo> = {}): ClaimInfo {
  const known = { sessionId: 's', token: 'confirm-1', toolCallId: 'app-1', status: 'pending', attempt: 0 } as const
  return { ...known, state, mine: true, claimId: 'c1', want: 'approving', ...more }
}

const onPhone = { mine: false, device: 'd2', label: 'Phone' }

test('a call without a record is arriving; once it ended it says so by itself', () => {
  expect(cardState({ call, record: undefined, claim: undefined, now: 0 }).kind).toBe('arriving')
  const ended = { ...call, status: 'complete' } as const
  expect(cardState({ call: ended, record: undefined, claim: undefined, now: 0 })).toMatchObject({
    kind: 'decided',
    outcome: 'approved',
  })
})

test('a pending confirmation waits for a person until it is overdue', () => {
  expect(cardState({ call, record: record('pending'), claim: undefined, now: 999 }).kind).toBe('pending')
  expect(cardState({ call, record: record('pending'), claim: undefined, now: 1000 }).kind).toBe('overdue')
})

test('F1 F15 a decision that the server does not know is queued, and may be taken back only before it was sent', () => {
  expect(cardState({ call, record: record('pending'), claim: claim('waiting'), now: 0 })).toEqual({
    kind: 'queued',
    want: 'approving',
    claimId: 'c1',
  })
  const sent = cardState({ call, record: record('pending'), claim: claim('sent'), now: 2000 })
  expect(sent).toMatchObject({ kind: 'queued', claimId: undefined })
  const refused = claim('refused', { problem: { code: 'forbidden', message: 'not yours', retryable: false, at: 0 } })
  expect(cardState({ call, record: record('pending'), claim: refused, now: 0 })).toMatchObject({
    kind: 'pending',
    refused: 'not yours',
  })
})

test('G1 the loser sees where it was decided and what its own decision was', () => {
  const lost = claim('lost', { want: 'rejecting', ...onPhone })
  expect(cardState({ call, record: record('approved'), claim: lost, now: 0 })).toEqual({
    kind: 'decided',
    outcome: 'approved',
    here: false,
    elsewhere: 'Phone',
    lost: 'rejecting',
  })
})

test('a decision of this device is decided here', () => {
  const ours = claim('settled', { device: 'd1', label: 'Laptop' })
  expect(cardState({ call, record: record('rejected'), claim: ours, now: 0 })).toMatchObject({
    outcome: 'rejected',
    here: true,
    elsewhere: undefined,
  })
})

test('F16 a claim that is being run elsewhere is never shown as approved', () => {
  const running = claim('running', { ...onPhone })
  expect(cardState({ call, record: record('approving'), claim: running, now: 0 })).toEqual({
    kind: 'running',
    want: 'approving',
    elsewhere: 'Phone',
  })
})

test('G2 F4 a run that broke off asks for a person', () => {
  expect(cardState({ call, record: record('approving'), claim: claim('attention'), now: 0 })).toEqual({
    kind: 'attention',
    want: 'approving',
    claimId: 'c1',
  })
})

test('F6 a decision that came too late shows as expired', () => {
  expect(cardState({ call, record: record('expired'), claim: claim('expired'), now: 0 })).toEqual({
    kind: 'expired',
    lost: 'approving',
  })
})
