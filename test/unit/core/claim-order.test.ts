import fc from 'fast-check'
import { expect, test } from 'vitest'
import { claimView, laterStatus, mergeClaimViews, takeClaimViews } from '../../../src/core/claim-order.ts'
import { OUTCOMES, statusRank, WANTS } from '../../../src/protocol/claim-status.ts'
import { confirmation, snapshot } from '../contract/snapshots.ts'
import { view } from './sessions.ts'

const statuses = fc.constantFrom('pending' as const, ...WANTS, ...OUTCOMES)
const attempted = fc.record({ status: statuses, attempt: fc.nat({ max: 3 }) })

test('R7 the later status is the one of the later attempt, then of the higher rank', () => {
  fc.assert(
    fc.property(attempted, attempted, (ours, theirs) => {
      const later = laterStatus(ours, theirs)
      expect([ours, theirs]).toContain(later)
      for (const each of [ours, theirs]) {
        expect(later.attempt).toBeGreaterThanOrEqual(each.attempt)
        if (later.attempt === each.attempt) {
          expect(statusRank(later.status)).toBeGreaterThanOrEqual(statusRank(each.status))
        }
      }
    }),
  )
})

test('R7 the order is the same from both sides, except that a draw is the server’s', () => {
  fc.assert(
    fc.property(attempted, attempted, (one, other) => {
      const draw = one.attempt === other.attempt && statusRank(one.status) === statusRank(other.status)
      if (draw) expect(laterStatus(one, other)).toBe(other)
      else expect(laterStatus(one, other)).toBe(laterStatus(other, one))
    }),
  )
})

test('R7 views only move on, in whatever order answers come', () => {
  fc.assert(
    fc.property(fc.array(attempted), (answers) => {
      const views = answers.map((each) => view({ token: 'a', ...each }))
      const merged = mergeClaimViews({}, views)
      const last = claimView(merged, 'a')
      for (const each of views) expect(last && laterStatus(each, last)).toBe(last)
    }),
  )
})

test('a view says who holds it now, also where its status is level', () => {
  const before = mergeClaimViews({}, [view({ doubt: true })])
  expect(claimView(mergeClaimViews(before, [view({ doubt: false, device: 'B' })]), 'confirm-1')).toMatchObject({
    doubt: false,
    device: 'B',
  })
})

test('R7 a claim that an answer does not list any more ended as the snapshot shows it, and its holder stays known', () => {
  const known = mergeClaimViews({}, [view({ label: 'Phone', sub: 'ann' }), view({ token: 'confirm-2' })])
  const confirmations = [
    confirmation({ status: 'approved' }),
    confirmation({ token: 'confirm-2', status: 'approving' }),
  ]
  const claims = [view({ token: 'confirm-2' })]
  const views = takeClaimViews(known, { claims, snapshot: snapshot({ confirmations }) })
  expect(claimView(views, 'confirm-1')).toMatchObject({ status: 'approved', label: 'Phone', sub: 'ann', attempt: 0 })
  expect(claimView(views, 'confirm-2')?.status).toBe('approving')
  // An answer from before the claim takes nothing back.
  const early = takeClaimViews(known, { claims: [], snapshot: snapshot({ confirmations: [confirmation()] }) })
  expect(claimView(early, 'confirm-1')?.status).toBe('approving')
})

test('a token with the name of something built in has no view, and may have one', () => {
  expect(claimView({}, 'constructor')).toBeUndefined()
  const views = mergeClaimViews({}, [view({ token: 'constructor' })])
  expect(claimView(views, 'constructor')?.status).toBe('approving')
})
