import { expect, test } from 'vitest'
import { confirmation, put, snapshot } from '../sessions.ts'
import { createPureServer } from './pure-server.ts'

test('G8 I3 a delete ends the incarnation, told again it is done, and its writes stay refused', () => {
  const server = createPureServer()
  server.put('a', put('w1', snapshot(1)), null)
  expect(server.delete('a', 'i1')).toMatchObject({ status: 200, incarnation: 'i1' })
  expect(server.delete('b', 'i1')).toMatchObject({ status: 200 })
  expect(server.state().session).toBeNull()
  expect(server.put('b', put('w2', snapshot(2)), null)).toMatchObject({ status: 410, code: 'deleted' })
})

test('G8 I5 an incarnation that the server never heard of can be ended: its write may still be on its way', () => {
  const server = createPureServer()
  expect(server.delete('a', 'i1').status).toBe(200)
  expect(server.put('a', put('w1', snapshot(1)), null)).toMatchObject({ status: 410, code: 'deleted' })
})

test('I3 a delete of one incarnation does not touch the one that lives', () => {
  const server = createPureServer()
  server.put('a', put('w1', snapshot(1), { incarnation: 'i2' }), null)
  expect(server.delete('a', 'i1')).toMatchObject({ status: 409, code: 'other-incarnation', incarnation: 'i2' })
  expect(server.state().session?.incarnation).toBe('i2')
})

test('a delete keeps that a token was decided, and not what it was about', () => {
  const server = createPureServer()
  const claim = { op: 'claim', incarnation: 'i1', claimId: 'c1', want: 'approving', leftIn: null } as const
  server.claim('a', { ...claim, confirmation: confirmation('t1', { input: { iban: 'DE00' } }) })
  server.delete('a', 'i1')
  expect(server.state().claims.get('t1')).toMatchObject({ status: 'approving', confirmation: { input: {} } })
})

test('F12 I1 a tool call of a deleted session binds no later one under its id: providers repeat their ids', () => {
  const server = createPureServer()
  const call = { toolCallId: 'call_1' }
  const claim = { op: 'claim', claimId: 'c1', want: 'approving', leftIn: null } as const
  server.claim('a', { ...claim, incarnation: 'i1', confirmation: confirmation('t1', call) })
  server.delete('a', 'i1')
  const asked = snapshot(1, { confirmations: [confirmation('t2', call)] })
  expect(server.put('a', put('w2', asked, { incarnation: 'i2' }), null).status).toBe(201)
  server.delete('a', 'i2')
  const next = { ...claim, incarnation: 'i3', claimId: 'c3', confirmation: confirmation('t3', call) }
  expect(server.claim('a', next)).toMatchObject({ status: 200, result: 'won' })
})
