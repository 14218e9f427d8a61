import { expect, test } from 'vitest'
import { addLeft, hasLeft, leftIn } from '../../../src/core/left-tokens.ts'
import { confirmation } from './sessions.ts'

test('K1 a token keeps the epoch in which it first left', () => {
  const once = addLeft({}, [confirmation({ token: 'a' })], '1-x')
  const twice = addLeft(once, [confirmation({ token: 'a' }), confirmation({ token: 'b' })], '2-y')
  expect(twice).toEqual({ a: '1-x', b: '2-y' })
})

test('K1 nothing new leaves the record as it is', () => {
  const left = { a: '1-x' }
  expect(addLeft(left, [confirmation({ token: 'a' })], '2-y')).toBe(left)
})

test('a token with the name of something built in has not left', () => {
  for (const token of ['constructor', 'toString', 'valueOf', 'hasOwnProperty']) {
    expect(hasLeft({}, token)).toBe(false)
    expect(leftIn({}, token)).toBeUndefined()
    expect(leftIn(addLeft({}, [confirmation({ token })], '1-x'), token)).toBe('1-x')
  }
})
