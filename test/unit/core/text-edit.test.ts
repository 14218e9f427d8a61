import fc from 'fast-check'
import { expect, test } from 'vitest'
import { spliceBetween, spliceOnto, type TextSplice } from '../../../src/core/text-edit.ts'

/** Few letters, so that texts share much; three that share a first or a second half, so that a wrong cut shows. */
const text = fc
  .array(fc.constantFrom('a', 'b', '\u{1f600}', '\u{1f601}', '\u{1fa00}', 'é'), { maxLength: 12 })
  .map((letters) => letters.join(''))

function apply(before: string, splice: TextSplice | undefined): string {
  if (!splice) return before
  return before.slice(0, splice.index) + splice.insert + before.slice(splice.index + splice.remove)
}

function isWhole(value: string): boolean {
  return !/\p{Surrogate}/u.test(value)
}

test('a splice turns the one text into the other, and cuts no character in two', () => {
  fc.assert(
    fc.property(text, text, (from, to) => {
      const splice = spliceBetween(from, to)
      expect(apply(from, splice)).toBe(to)
      if (!splice) return
      expect(isWhole(from.slice(0, splice.index))).toBe(true)
      expect(isWhole(from.slice(splice.index + splice.remove))).toBe(true)
      expect(isWhole(splice.insert)).toBe(true)
    }),
  )
})

test('two characters that share their first or their second half are replaced whole', () => {
  expect(spliceBetween('x\u{1f600}y', 'x\u{1f601}y')).toEqual({ index: 1, remove: 2, insert: '\u{1f601}' })
  expect(spliceBetween('x\u{1f600}y', 'x\u{1fa00}y')).toEqual({ index: 1, remove: 2, insert: '\u{1fa00}' })
})

test('H19 what is appended is all that is written', () => {
  expect(spliceBetween('hello', 'hello world')).toEqual({ index: 5, remove: 0, insert: ' world' })
})

test('H12 an edit that is there already is not written again', () => {
  fc.assert(
    fc.property(text, text, (from, to) => {
      expect(spliceOnto(to, { from, to })).toBeUndefined()
      expect(spliceOnto(from, { from, to: from })).toBeUndefined()
    }),
  )
})

test('an edit onto the text that its writer knew gives what the writer saved', () => {
  fc.assert(
    fc.property(text, text, (from, to) => {
      expect(apply(from, spliceOnto(from, { from, to }))).toBe(to)
    }),
  )
})

test('an edit onto any other text leaves it whole', () => {
  fc.assert(
    fc.property(text, text, text, (current, from, to) => {
      expect(isWhole(apply(current, spliceOnto(current, { from, to })))).toBe(true)
    }),
  )
})

test('a writer that lags behind its own words appends only what is missing', () => {
  expect(spliceOnto('hello wor', { from: 'hello', to: 'hello world' })).toEqual({ index: 9, remove: 0, insert: 'ld' })
  expect(spliceOnto('hello world!', { from: 'hello', to: 'hello world' })).toBeUndefined()
})

test('edits of two places are both kept', () => {
  expect(apply('say abX', spliceOnto('say abX', { from: 'say ab', to: 'say: ab' }))).toBe('say: abX')
  expect(apply('Xabc', spliceOnto('Xabc', { from: 'abc', to: 'abd' }))).toBe('Xabd')
  expect(apply('one, two', spliceOnto('one, two', { from: 'one', to: 'one three' }))).toBe('one, two three')
})

test('of edits of the same place the saved one wins', () => {
  expect(apply('axxd', spliceOnto('axxd', { from: 'abcd', to: 'ayyd' }))).toBe('ayyd')
})
