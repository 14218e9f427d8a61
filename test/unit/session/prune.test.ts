import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Confirmation, Decision } from '../../../src/contract/session-snapshot.ts'
import { chains } from '../../../src/core/conversation-chain.ts'
import { CONFIRMATIONS_KEPT, pruneConfirmations } from '../../../src/core/prune-confirmations.ts'
import { DECISIONS_KEPT, pruneDecisions } from '../../../src/core/prune-decisions.ts'
import { confirmation, decision } from '../contract/snapshots.ts'

const STATUSES = ['pending', 'approving', 'rejecting', 'expiring', 'approved', 'rejected', 'expired'] as const
const TERMINAL: readonly string[] = ['approved', 'rejected', 'expired']

function records(statuses: readonly Confirmation['status'][], expiresAt = (index: number) => index): Confirmation[] {
  return statuses.map((status, index) =>
    confirmation({ token: `t-${index}`, toolCallId: `c-${index}`, status, expiresAt: expiresAt(index) }),
  )
}

function path(states: readonly string[]): Decision[] {
  return states
    .slice(1)
    .map((toState, index) => decision({ messageId: `m-${index}`, fromState: states[index] ?? '', toState }))
}

test('up to 900 confirmations nothing goes, and the list is the same one', () => {
  const all = records(Array(CONFIRMATIONS_KEPT).fill('approved'))
  expect(pruneConfirmations(all)).toBe(all)
})

test('above 900 the oldest settled confirmations go, by (expiresAt, token), and the order stays', () => {
  const all = records(Array(903).fill('expired'), (index) => (index < 3 ? 500 : 100))
  const kept = pruneConfirmations(all).map(({ token }) => token)
  const gone = all.map(({ token }) => token).filter((token) => !kept.includes(token))
  expect(gone).toEqual(['t-10', 't-100', 't-101'])
  expect(kept).toEqual(all.map(({ token }) => token).filter((token) => kept.includes(token)))
})

test('K9 unfinished confirmations never go, however many there are', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...STATUSES), { minLength: 895, maxLength: 1001, size: 'max' }),
      (statuses) => {
        const all = records(statuses)
        const kept = pruneConfirmations(all)
        const unfinished = all.filter(({ status }) => !TERMINAL.includes(status))
        expect(kept.filter(({ status }) => !TERMINAL.includes(status))).toEqual(unfinished)
        expect(kept.length).toBe(all.length <= 900 ? all.length : Math.max(900, unfinished.length))
        expect(pruneConfirmations(kept)).toEqual(kept)
      },
    ),
    { numRuns: 30 },
  )
})

test('up to 900 decisions nothing goes, and the list is the same one', () => {
  const all = path(Array(DECISIONS_KEPT + 1).fill('idle'))
  expect(pruneDecisions(all)).toBe(all)
})

test('G6 above 900 the oldest circle that is long enough goes, and no more', () => {
  // 0..9 lead away and never come back; then a circle of two states.
  const away = Array.from({ length: 10 }, (_, index) => `away-${index}`)
  const circle = Array.from({ length: 895 }, (_, index) => (index % 2 === 0 ? 'even' : 'odd'))
  const all = path([...away, ...circle])
  const kept = pruneDecisions(all)
  expect(all.length).toBe(904)
  expect(kept.length).toBe(900)
  expect(kept.slice(0, 10)).toEqual(all.slice(0, 10))
  expect(kept.slice(10)).toEqual(all.slice(14))
})

test('G6 of circles that end together the shortest goes', () => {
  const away = Array.from({ length: 897 }, (_, index) => `away-${index}`)
  const all = path(['x', 'y', 'x', 'p', 'q', 'r', 's', 'x', ...away])
  const kept = pruneDecisions(all)
  expect(all.length - DECISIONS_KEPT).toBe(4)
  expect(kept).toEqual([...all.slice(0, 2), ...all.slice(7)])
})

test('G6 where no circle is long enough the longest goes', () => {
  const line = (length: number, name: string) => Array.from({ length }, (_, index) => `${name}-${index}`)
  const all = path([...line(500, 'a'), 'b', 'c', 'b', ...line(440, 'd')])
  const kept = pruneDecisions(all)
  expect(all.length - kept.length).toBe(2)
  expect(chains('a-0', { state: 'd-439', decisions: kept })).toBe(true)
})

test('G6 more than 1000 decisions that never come back are too large', () => {
  const line = (length: number) => path(Array.from({ length }, (_, index) => `state-${index}`))
  const all = line(1001)
  expect(pruneDecisions(all)).toBe(all)
  expect(() => pruneDecisions(line(1002))).toThrow(
    expect.objectContaining({ code: 'too-large', hint: expect.any(String) }),
  )
})

test('G6 whatever goes, the rest leads to the same state and the last decision stays', () => {
  const walk = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 902, maxLength: 1100, size: 'max' })
  fc.assert(
    fc.property(walk, (states) => {
      const all = path(states)
      const kept = pruneDecisions(all)
      expect(kept.length).toBeLessThanOrEqual(900)
      expect(kept.at(-1)).toBe(all.at(-1))
      expect(chains(states[0] ?? '', { state: states.at(-1) ?? '', decisions: kept })).toBe(true)
      // One contiguous segment went.
      const ahead = kept.findIndex((each, index) => each !== all[index])
      const at = ahead < 0 ? kept.length : ahead
      expect(kept).toEqual([...all.slice(0, at), ...all.slice(at + all.length - kept.length)])
    }),
    { numRuns: 50 },
  )
})
