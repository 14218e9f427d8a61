import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Confirmation } from '../../../src/contract/session-snapshot.ts'
import { overlayAsked, overlayStatuses, withStatus } from '../../../src/core/overlay-statuses.ts'
import { isOutcome, OUTCOMES, statusRank, WANTS } from '../../../src/protocol/claim-status.ts'
import { confirmation, snapshot, view } from './sessions.ts'

const statuses = fc.constantFrom('pending' as const, ...WANTS, ...OUTCOMES)
const lists = fc
  .uniqueArray(fc.record({ token: fc.constantFrom('a', 'b', 'c', 'd', 'constructor'), status: statuses }), {
    selector: ({ token }) => token,
  })
  .map((items) => items.map((each) => confirmation({ ...each, toolCallId: `call-${each.token}` })))
const views = lists.map((all) => Object.fromEntries(all.map(({ token, status }) => [token, view({ token, status })])))

function statusOf(all: readonly Confirmation[], token: string) {
  return all.find((each) => each.token === token)?.status
}

test('R7 nothing is shown earlier than it is known, and of two of one rank the known one stays', () => {
  fc.assert(
    fc.property(lists, lists, (asked, confirmations) => {
      const stored = overlayStatuses(asked, { confirmations, claims: {} })
      for (const { token, status } of confirmations) {
        const shown = statusOf(stored, token)
        if (shown === undefined) continue
        expect(statusRank(shown)).toBeGreaterThanOrEqual(statusRank(status))
        if (statusRank(shown) === statusRank(status)) expect(shown).toBe(status)
      }
    }),
  )
})

test('R7 no unfinished token is left out, no token is invented, and what is asked keeps its order', () => {
  fc.assert(
    fc.property(lists, lists, views, (asked, confirmations, claims) => {
      const stored = overlayStatuses(asked, { confirmations, claims })
      const tokens = stored.map(({ token }) => token)
      expect(tokens.slice(0, asked.length)).toEqual(asked.map(({ token }) => token))
      expect(new Set(tokens).size).toBe(tokens.length)
      for (const { token } of stored)
        expect([...asked, ...confirmations].some((each) => each.token === token)).toBe(true)
      for (const { token, status } of confirmations) {
        const known = Object.hasOwn(claims, token) ? claims[token]?.status : status
        if (known && statusRank(known) < 2) expect(tokens).toContain(token)
      }
    }),
  )
})

test('R7 a finished token that was left out is gone', () => {
  fc.assert(
    fc.property(lists, lists, (asked, confirmations) => {
      const stored = overlayStatuses(asked, { confirmations, claims: {} }).map(({ token }) => token)
      const dropped = confirmations.filter(
        ({ token, status }) => isOutcome(status) && statusOf(asked, token) === undefined,
      )
      for (const { token } of dropped) expect(stored).not.toContain(token)
    }),
  )
})

test('R7 a claim has the last word on its token', () => {
  fc.assert(
    fc.property(lists, lists, views, (asked, confirmations, claims) => {
      for (const { token, status } of overlayStatuses(asked, { confirmations, claims })) {
        if (Object.hasOwn(claims, token)) expect(status).toBe(claims[token]?.status)
      }
    }),
  )
})

test('R7 what is stored is stored the same when it is asked for again', () => {
  fc.assert(
    fc.property(lists, lists, views, (asked, confirmations, claims) => {
      const stored = overlayStatuses(asked, { confirmations, claims })
      expect(overlayStatuses(stored, { confirmations: stored, claims })).toEqual(stored)
    }),
  )
})

test('R7 a token that was given up is pending again, whatever a late save shows', () => {
  const asked = [confirmation({ status: 'approving' })]
  const claims = { 'confirm-1': view({ status: 'pending', attempt: 1 }) }
  expect(statusOf(overlayStatuses(asked, { confirmations: asked, claims }), 'confirm-1')).toBe('pending')
})

test('R7 a save moves its own confirmation, and keeps what it does not show', () => {
  const stored = snapshot({
    confirmations: [
      confirmation({ token: 'a', toolCallId: 'call-a' }),
      confirmation({ token: 'b', toolCallId: 'call-b', status: 'approved' }),
      confirmation({ token: 'c', toolCallId: 'call-c' }),
    ],
  })
  const moved = confirmation({ token: 'a', toolCallId: 'call-a', status: 'approving' })
  const asked = snapshot({ cursor: 2, confirmations: [moved, confirmation({ token: 'b', toolCallId: 'call-b' })] })
  const { confirmations, cursor } = overlayAsked(stored, asked, moved)
  expect(cursor).toBe(2)
  expect(confirmations.map(({ token, status }) => [token, status])).toEqual([
    ['a', 'approving'],
    ['b', 'approved'],
    ['c', 'pending'],
  ])
})

test('the first save of a session is stored as it is asked', () => {
  const asked = snapshot({ confirmations: [confirmation({ status: 'approved' })] })
  expect(overlayAsked(undefined, asked, undefined)).toBe(asked)
})

test('a status is set on one token only', () => {
  const all = [confirmation({ token: 'a' }), confirmation({ token: 'b' })]
  expect(withStatus(all, 'b', 'rejected').map(({ status }) => status)).toEqual(['pending', 'rejected'])
})
