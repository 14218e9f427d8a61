import type { RejoinStatus } from 'rejoin'
import { expect, test } from 'vitest'
import { statusText } from '../../../demo/src/status-text.ts'

function status(state: RejoinStatus['state'], more: Partial<RejoinStatus> = {}): RejoinStatus {
  return { state, unsent: { messages: 0, snapshots: 0, claims: 0 }, refused: 0, clockOffsetMs: 0, ...more }
}

test('G9 what waits is counted, and without a server nothing waits', () => {
  const unsent = { messages: 1, snapshots: 0, claims: 2 }
  expect(statusText(status('offline', { unsent })).detail).toBe('1 chat with messages, 2 with decisions to send')
  expect(statusText(status('offline', { reason: 'there is no network' })).detail).toBe('nothing waits to be sent')
  expect(statusText(status('local', { unsent })).detail).toBeUndefined()
})

test('G9 synced says nothing more, and only good news is green', () => {
  expect(statusText(status('synced'))).toEqual({ tone: 'good', headline: 'Synced', detail: undefined })
  for (const state of ['local', 'offline', 'connecting', 'syncing', 'needs-auth', 'degraded', 'error'] as const) {
    expect(statusText(status(state)).tone).not.toBe('good')
  }
})

test('F20 F23 a refusal and the reason of a failure are said', () => {
  expect(statusText(status('syncing', { refused: 1 })).detail).toBe('1 change refused')
  expect(statusText(status('degraded', { reason: 'the disk is full' })).detail).toBe('the disk is full')
})
