import { expect, test } from 'vitest'
import { MAX_CONFIRMATIONS } from '../../../src/contract/session-snapshot.ts'
import { CONFIRMATIONS_KEPT } from '../../../src/core/prune-confirmations.ts'
import { confirmation, decision, put, snapshot } from '../sessions.ts'
import { createPureServer } from './pure-server.ts'

test('R6 a create stores the asked cursor and answers 201 with an ETag of epoch, incarnation, cursor and write', () => {
  const server = createPureServer()
  const answer = server.put('a', put('w1', snapshot(4)), null)
  expect(answer).toMatchObject({
    status: 201,
    etag: '"1000-first.i1.4.w1"',
    etagBefore: null,
    incarnation: 'i1',
    lastWriteId: 'w1',
    snapshot: { cursor: 4 },
    head: 0,
    claims: [],
    lease: null,
  })
})

test('R6 an update on the stored ETag answers 200 and names the ETag before it', () => {
  const server = createPureServer()
  const first = server.put('a', put('w1', snapshot(1)), null)
  const answer = server.put('b', put('w2', snapshot(2)), first.etag)
  expect(answer).toMatchObject({ status: 200, etag: '"1000-first.i1.2.w2"', etagBefore: first.etag, lastWriteId: 'w2' })
})

test('G5 a write on another ETag answers 412 with what is stored, and changes nothing', () => {
  const server = createPureServer()
  const first = server.put('a', put('w1', snapshot(1)), null)
  server.put('a', put('w2', snapshot(2)), first.etag)
  const before = server.state()
  const answer = server.put('b', put('w3', snapshot(2, { definitionId: 'support' })), first.etag)
  expect(answer).toMatchObject({ status: 412, snapshot: { cursor: 2 }, lastWriteId: null })
  expect(answer.etag).toBe(answer.etagBefore)
  expect(server.state().session).toEqual(before.session)
})

test('I1 create-only answers 412 when there is a snapshot, and 412 without one where an update finds none', () => {
  const server = createPureServer()
  expect(server.put('a', put('w0', snapshot(1)), '"1000-first.i1.1.x"')).toMatchObject({ status: 412, snapshot: null })
  server.put('a', put('w1', snapshot(1)), null)
  expect(server.put('b', put('w2', snapshot(1)), null)).toMatchObject({ status: 412, snapshot: { cursor: 1 } })
})

test("R4 a device's last write again is answered 200 with what is stored now, whatever its If-Match says", () => {
  const server = createPureServer()
  const first = server.put('a', put('w1', snapshot(1)), null)
  server.put('b', put('w2', snapshot(2)), first.etag)
  expect(server.put('a', put('w1', snapshot(1)), null)).toMatchObject({
    status: 200,
    etag: '"1000-first.i1.2.w2"',
    lastWriteId: 'w1',
  })
})

test("R4 only the device's own last write counts: another device with the same id gets 412", () => {
  const server = createPureServer()
  server.put('a', put('w1', snapshot(1)), null)
  expect(server.put('b', put('w1', snapshot(1)), null).status).toBe(412)
})

test('R3 a cursor that is not above the stored one is cursor-behind', () => {
  const server = createPureServer()
  server.put('a', put('w1', snapshot(5)), null)
  for (const cursor of [4, 5]) {
    expect(server.putNext('a', put('w2', snapshot(cursor)))).toMatchObject({
      status: 409,
      code: 'cursor-behind',
      retryable: false,
      snapshot: { cursor: 5 },
    })
  }
  expect(server.state().session?.cursor).toBe(5)
})

test('R7 an earlier status, or an unfinished token left out, is stored as it is known', () => {
  const server = createPureServer()
  server.put('a', put('w1', snapshot(1, { confirmations: [confirmation('t1'), confirmation('t2')] })), null)
  const claimed = server.claim('a', {
    op: 'claim',
    incarnation: 'i1',
    claimId: 'c1',
    want: 'approving',
    confirmation: confirmation('t1'),
    leftIn: server.epoch,
  })
  expect(claimed.result).toBe('won')
  const answer = server.putNext('b', put('w2', snapshot(3, { confirmations: [confirmation('t1')] })))
  expect(answer.status).toBe(200)
  expect(answer.snapshot?.confirmations.map(({ token, status }) => [token, status])).toEqual([
    ['t1', 'approving'],
    ['t2', 'pending'],
  ])
})

test('R7 a finished token may be left out, and stays known: it cannot come back as pending', () => {
  const server = createPureServer()
  server.put('a', put('w1', snapshot(1, { confirmations: [confirmation('t1')] })), null)
  const claim = { incarnation: 'i1', claimId: 'c1' } as const
  server.claim('a', { ...claim, op: 'claim', want: 'rejecting', confirmation: confirmation('t1'), leftIn: null })
  server.claim('a', { ...claim, op: 'settle', attempt: 0, outcome: 'rejected' })
  expect(server.putNext('a', put('w2', snapshot(9))).snapshot?.confirmations).toEqual([])
  const back = server.putNext('a', put('w3', snapshot(10, { confirmations: [confirmation('t1')] })))
  expect(back.snapshot?.confirmations[0]?.status).toBe('rejected')
})

test.each(['approving', 'approved', 'expiring', 'expired', 'rejecting'] as const)(
  'K9 a plain PUT that brings an unknown token as %s is claim-missing, retryable',
  (status) => {
    const server = createPureServer()
    server.put('a', put('w1', snapshot(1)), null)
    const asked = snapshot(2, { confirmations: [confirmation('t1', { status })] })
    expect(server.putNext('a', put('w2', asked))).toMatchObject({ status: 409, code: 'claim-missing', retryable: true })
    expect(server.state().session?.cursor).toBe(1)
  },
)

test.each(['pending', 'rejected'] as const)('K9 a plain PUT may bring an unknown token as %s', (status) => {
  const server = createPureServer()
  const asked = snapshot(1, { confirmations: [confirmation('t1', { status })] })
  expect(server.put('a', put('w1', asked), null).status).toBe(201)
})

test('K9 G1 a plain PUT cannot decide a known token either', () => {
  const server = createPureServer()
  server.put('a', put('w1', snapshot(1, { confirmations: [confirmation('t1')] })), null)
  for (const status of ['approving', 'approved', 'rejected'] as const) {
    const asked = snapshot(2, { confirmations: [confirmation('t1', { status })] })
    expect(server.putNext('b', put('w2', asked))).toMatchObject({ status: 409, code: 'claim-missing' })
  }
  expect(server.statusOf('t1')).toBe('pending')
})

test('F12 a second token for one tool call is refused', () => {
  const server = createPureServer()
  server.put('a', put('w1', snapshot(1, { confirmations: [confirmation('t1', { toolCallId: 'call' })] })), null)
  const asked = snapshot(2, { confirmations: [confirmation('t2', { toolCallId: 'call' })] })
  expect(server.putNext('b', put('w2', asked))).toMatchObject({ status: 422, code: 'snapshot-invalid' })
})

test('a token named like an object member is a token like any other', () => {
  const server = createPureServer()
  const answer = server.put('a', put('w1', snapshot(1, { confirmations: [confirmation('constructor')] })), null)
  expect(answer.snapshot?.confirmations[0]?.status).toBe('pending')
})

test('R9 G6 decisions that do not chain from the initial state are snapshot-invalid', () => {
  const server = createPureServer()
  const first = { state: 'b', decisions: [decision('m1', 'a', 'b')] }
  expect(server.put('a', put('w1', snapshot(1, { conversation: first })), null).status).toBe(201)
  const broken = [
    { state: 'c', decisions: [decision('m2', 'b', 'c')] },
    { state: 'x', decisions: [decision('m1', 'a', 'b')] },
    { state: 'd', decisions: [decision('m1', 'a', 'b'), decision('m2', 'c', 'd')] },
  ]
  for (const conversation of broken) {
    expect(server.putNext('a', put('w2', snapshot(2, { conversation })))).toMatchObject({
      status: 422,
      code: 'snapshot-invalid',
    })
  }
  const longer = { state: 'c', decisions: [decision('m1', 'a', 'b'), decision('m2', 'b', 'c')] }
  expect(server.putNext('a', put('w3', snapshot(2, { conversation: longer }))).status).toBe(200)
})

test('a foreign definition, or a lower revision, is definition-mismatch, and so is a higher one without upgrade', () => {
  const server = createPureServer()
  server.put('a', put('w1', snapshot(1, { definitionRevision: 2 })), null)
  for (const change of [
    { definitionId: 'sales', definitionRevision: 2 },
    { definitionRevision: 1 },
    { definitionRevision: 3 },
  ]) {
    expect(server.putNext('a', put('w2', snapshot(2, change)))).toMatchObject({
      status: 409,
      code: 'definition-mismatch',
      retryable: false,
    })
  }
})

test('I7 an upgrade waits for open confirmations and then starts the conversation anew', () => {
  const server = createPureServer()
  const conversation = { state: 'b', decisions: [decision('m1', 'a', 'b')] }
  server.put('a', put('w1', snapshot(1, { conversation, confirmations: [confirmation('t1')] })), null)
  const upgraded = snapshot(9, { definitionRevision: 2, conversation: { state: 'start', decisions: [] } })
  const request = put('w2', upgraded, { upgrade: true })
  expect(server.putNext('a', request)).toMatchObject({ status: 409, code: 'claim-missing' })
  const claim = { incarnation: 'i1', claimId: 'c1' } as const
  server.claim('a', { ...claim, op: 'claim', want: 'rejecting', confirmation: confirmation('t1'), leftIn: null })
  server.claim('a', { ...claim, op: 'settle', attempt: 0, outcome: 'rejected', note: 'upgraded' })
  expect(server.putNext('a', request)).toMatchObject({ status: 200, snapshot: { definitionRevision: 2 } })
  expect(server.state().session?.initial).toBe('start')
})

test('I1 a write under an ended incarnation is deleted, beside another live one other-incarnation with the answer', () => {
  const server = createPureServer()
  server.put('a', put('w1', snapshot(1)), null)
  server.delete('a', 'i1')
  expect(server.put('b', put('w2', snapshot(2)), null)).toMatchObject({ status: 410, code: 'deleted' })
  expect(server.put('b', put('w3', snapshot(1), { incarnation: 'i2' }), null).status).toBe(201)
  expect(server.put('c', put('w4', snapshot(1), { incarnation: 'i3' }), null)).toMatchObject({
    status: 409,
    code: 'other-incarnation',
    incarnation: 'i2',
    snapshot: { cursor: 1 },
  })
  expect(server.put('b', put('w5', snapshot(2)), null)).toMatchObject({ status: 410, code: 'deleted' })
})

test('R4 the last write of an ended incarnation is not known in the next one', () => {
  const server = createPureServer()
  server.put('a', put('w1', snapshot(1)), null)
  server.delete('a', 'i1')
  server.put('b', put('w9', snapshot(1), { incarnation: 'i2' }), null)
  expect(server.put('a', put('w1', snapshot(1), { incarnation: 'i2' }), null).status).toBe(412)
})

test('terminal confirmations make room above 900, and too many open ones are too-large', () => {
  const server = createPureServer()
  const many = (count: number, status: 'pending' | 'rejected', prefix: string) =>
    Array.from({ length: count }, (_, at) => confirmation(`${prefix}${at}`, { status, expiresAt: at }))
  const first = snapshot(1, { confirmations: [...many(800, 'rejected', 'r'), ...many(150, 'pending', 'p')] })
  const stored = server.put('a', put('w1', first), null).snapshot?.confirmations
  expect(stored).toHaveLength(CONFIRMATIONS_KEPT)
  expect(stored?.filter(({ status }) => status === 'pending')).toHaveLength(150)
  const crowd = snapshot(2, { confirmations: many(MAX_CONFIRMATIONS - 100, 'pending', 'q') })
  expect(server.putNext('a', put('w2', crowd))).toMatchObject({ status: 413, code: 'too-large' })
})

test('I5 an unfinished token that left in an earlier epoch is stored in doubt when the server has no row for it', () => {
  const server = createPureServer()
  const asked = snapshot(4, { confirmations: [confirmation('t1', { status: 'approving' }), confirmation('t2')] })
  const answer = server.put('a', put('w1', asked, { inDoubt: ['t1', 't2'] }), null)
  expect(answer.status).toBe(201)
  expect(answer.claims).toMatchObject([
    { token: 't1', status: 'approving', doubt: true },
    { token: 't2', status: 'pending', doubt: true },
  ])
})

test('I5 F48 a token in doubt moves on to what a device knows of it: an outcome ends the doubt', () => {
  const server = createPureServer()
  const asked = (status: 'pending' | 'approving' | 'approved') =>
    snapshot((server.state().session?.cursor ?? 0) + 1, { confirmations: [confirmation('t1', { status })] })
  server.put('a', put('w1', asked('pending'), { inDoubt: ['t1'] }), null)
  const seen = server.putNext('b', put('w2', asked('approving'), { inDoubt: ['t1'] }))
  expect(seen.claims).toMatchObject([{ token: 't1', status: 'approving', doubt: true }])
  const done = server.putNext('b', put('w3', asked('approved'), { inDoubt: ['t1'] }))
  expect(done.snapshot?.confirmations).toMatchObject([{ status: 'approved' }])
  expect(server.state().claims.get('t1')).toMatchObject({ status: 'approved', doubt: false })
  server.putNext('a', put('w4', asked('approving'), { inDoubt: ['t1'] }))
  expect(server.statusOf('t1')).toBe('approved')
})

test('I5 K9 an outcome that only a device knows comes with the snapshot that names the token', () => {
  const server = createPureServer()
  const asked = snapshot(1, { confirmations: [confirmation('t1', { status: 'approved' })] })
  expect(server.put('a', put('w1', asked), null)).toMatchObject({ code: 'claim-missing' })
  expect(server.put('a', put('w2', asked, { inDoubt: ['t1'] }), null).status).toBe(201)
})
