import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deepEqual, sameButForOrder, sameContent } from '../../../src/core/same-content.ts'
import { confirmation, snapshot, talk } from './sessions.ts'

test('R1 two snapshots are equal apart from cursor and updatedAt', () => {
  const one = snapshot({ cursor: 3, updatedAt: '2026-10-01T12:00:00.000Z', conversation: talk('m1') })
  const other = snapshot({ cursor: 9, updatedAt: '2026-11-01T12:00:00.000Z', conversation: talk('m1') })
  expect(sameContent(one, other)).toBe(true)
})

test.each([
  ['the definition', { definitionId: 'other' }],
  ['its revision', { definitionRevision: 2 }],
  ['the session', { sessionId: 'other' }],
  ['the turn', { activeTurn: { turnId: 't1', expiresAt: 5 } }],
  ['an ended turn', { terminalTurns: [{ turnId: 't1', outcome: 'completed' as const }] }],
  ['the conversation', { conversation: talk('m1') }],
  ['a confirmation', { confirmations: [confirmation()] }],
])('R1 another %s is another content', (_, change) => {
  expect(sameContent(snapshot(), snapshot(change))).toBe(false)
})

test('R1 no ended turn and a list of none say the same', () => {
  expect(sameContent(snapshot(), snapshot({ terminalTurns: [] }))).toBe(true)
})

test('R4 the order of confirmations is a difference that nobody sees', () => {
  const [one, two] = [confirmation({ token: 'a' }), confirmation({ token: 'b' })]
  const listed = snapshot({ confirmations: [one, two] })
  const reordered = snapshot({ confirmations: [two, one] })
  expect(sameContent(listed, reordered)).toBe(false)
  expect(sameButForOrder(listed, reordered)).toBe(true)
  expect(sameButForOrder(listed, snapshot({ confirmations: [two] }))).toBe(false)
})

test('a value equals what the wire makes of it, whatever the order of its keys', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(deepEqual(value, JSON.parse(JSON.stringify(value)))).toBe(true)
      expect(deepEqual(value, reversed(value))).toBe(true)
    }),
  )
})

test('a list is no object, and a member more is another value', () => {
  expect(deepEqual([], {})).toBe(false)
  expect(deepEqual({}, [])).toBe(false)
  expect(deepEqual(['a'], { 0: 'a' })).toBe(false)
  expect(deepEqual([1, 2], [1])).toBe(false)
  expect(deepEqual({ a: 1 }, { a: 1, b: 2 })).toBe(false)
  expect(deepEqual([1], [1, 2])).toBe(false)
  expect(deepEqual({ a: null }, { b: null })).toBe(false)
  expect(deepEqual({ a: 1, b: undefined }, { a: 1 })).toBe(true)
  expect(deepEqual(null, {})).toBe(false)
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  )
}
