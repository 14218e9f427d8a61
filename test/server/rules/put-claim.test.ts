import { expect, test } from 'vitest'
import type { Confirmation } from '../../../src/contract/session-snapshot.ts'
import type { PutClaim } from '../../../src/protocol/put-claim.ts'
import { confirmation, HOUR, put, snapshot } from '../sessions.ts'
import { createPureServer, type PureServer, T0 } from './pure-server.ts'

type Claim = Extract<PutClaim, { op: 'claim' }>
type Assertion = Extract<PutClaim, { op: 'assert' }>

/** A click on the token `t1`, which left the device in this epoch. */
function click(claimId: string, change: Partial<Claim> = {}): Claim {
  const about = confirmation('t1', { expiresAt: T0 + HOUR })
  return {
    op: 'claim',
    incarnation: 'i1',
    claimId,
    want: 'approving',
    confirmation: about,
    leftIn: '1000-first',
    ...change,
  }
}

const settle = (claimId: string, attempt = 0) =>
  ({ op: 'settle', incarnation: 'i1', claimId, attempt, outcome: 'approved' }) as const
const release = (claimId: string, attempt = 0) => ({ op: 'release', incarnation: 'i1', claimId, attempt }) as const
const assert = (claimId: string, change: Partial<Assertion> = {}): Assertion => {
  const about = confirmation('t1', { expiresAt: T0 + HOUR })
  return { op: 'assert', incarnation: 'i1', claimId, attempt: 0, want: 'approving', confirmation: about, ...change }
}
const takeOver = (claimId: string, attempt = 0) =>
  ({ op: 'take-over', incarnation: 'i1', claimId, attempt, note: 'the laptop is gone' }) as const

/** A server that holds a session with the pending token `t1`, at cursor 1. */
function serverWithToken(change: Partial<Confirmation> = {}): PureServer {
  const server = createPureServer()
  const pending = confirmation('t1', { expiresAt: T0 + HOUR, ...change })
  server.put('a', put('w1', snapshot(1, { confirmations: [pending] })), null)
  return server
}

test('G1 K9 the first claimId wins, every other is told who holds it', () => {
  const server = serverWithToken()
  expect(server.claim('a', click('c1'))).toMatchObject({ status: 200, result: 'won', claim: { claimId: 'c1' } })
  server.now += 5000
  expect(server.claim('b', click('c2', { want: 'rejecting' }))).toMatchObject({
    status: 409,
    result: 'lost',
    claim: {
      status: 'approving',
      claimId: 'c1',
      device: 'a',
      label: 'label of a',
      sub: 'person of a',
      at: T0,
      attempt: 0,
    },
  })
})

test('F2 K9 the same claimId gets the same answer, also after the settlement', () => {
  const server = serverWithToken()
  const first = server.claim('a', click('c1'))
  const again = server.claim('a', click('c1'))
  expect(again).toMatchObject({ status: 200, result: 'won', etag: first.etag, etagBefore: first.etag })
  server.claim('a', settle('c1'))
  expect(server.claim('a', click('c1'))).toMatchObject({ result: 'won', claim: { status: 'approved' } })
})

test('G1 a claimId that another device read off an answer is worth nothing there', () => {
  const server = serverWithToken()
  server.claim('a', click('c1'))
  expect(server.claim('b', click('c1'))).toMatchObject({ status: 409, result: 'lost' })
  expect(server.claim('b', settle('c1'))).toMatchObject({ status: 409, result: 'lost' })
  expect(server.statusOf('t1')).toBe('approving')
})

test('R6 claim and settlement raise the cursor by one each and are the write of the ETag', () => {
  const server = serverWithToken()
  const before = server.etag()
  const won = server.claim('a', click('c1'))
  expect(won).toMatchObject({ etagBefore: before, etag: '"1000-first.i1.2.c1.0.approving"' })
  expect(won.snapshot).toMatchObject({ cursor: 2, updatedAt: new Date(T0).toISOString() })
  const settled = server.claim('a', settle('c1'))
  expect(settled).toMatchObject({ result: 'recorded', etag: '"1000-first.i1.3.c1.0.approved"', etagBefore: won.etag })
  expect(server.statusOf('t1')).toBe('approved')
})

test('K9 a settlement is recorded once and told again the same', () => {
  const server = serverWithToken()
  server.claim('a', click('c1'))
  const first = server.claim('a', settle('c1'))
  expect(server.claim('a', settle('c1'))).toMatchObject({ status: 200, result: 'recorded', etag: first.etag })
})

test('G3 a claim ends only as it was wanted', () => {
  const server = serverWithToken()
  server.claim('a', click('c1', { want: 'rejecting' }))
  expect(server.claim('a', settle('c1'))).toMatchObject({
    status: 409,
    result: 'refused',
    problem: { code: 'conflict' },
  })
  expect(server.statusOf('t1')).toBe('rejecting')
})

test('F6 F7 approving after the expiry, by the server clock, is expired: no holder, and nobody wins it later', () => {
  const server = serverWithToken()
  server.now = T0 + HOUR
  const late = server.claim('a', click('c1'))
  expect(late).toMatchObject({ status: 409, result: 'expired', etag: '"1000-first.i1.2.server.0.expired"' })
  expect(late.claim).not.toHaveProperty('claimId')
  expect(server.statusOf('t1')).toBe('expired')
  expect(server.claim('a', click('c1'))).toMatchObject({ result: 'expired', etag: late.etag })
  expect(server.claim('b', click('c2', { want: 'rejecting' }))).toMatchObject({ result: 'expired' })
})

test('F7 the expiry that counts is the stored one, not the one that a claim brings', () => {
  const server = serverWithToken()
  server.now = T0 + HOUR
  const extended = confirmation('t1', { expiresAt: T0 + 9 * HOUR })
  expect(server.claim('a', click('c1', { confirmation: extended }))).toMatchObject({ result: 'expired' })
})

test('a person may turn a confirmation down after its expiry: nothing runs', () => {
  const server = serverWithToken()
  server.now = T0 + HOUR
  expect(server.claim('a', click('c1', { want: 'rejecting' }))).toMatchObject({ result: 'won' })
})

test('K9 expiring is refused before the expiry and wins after it', () => {
  const server = serverWithToken()
  const early = server.claim('a', click('c1', { want: 'expiring' }))
  expect(early).toMatchObject({ status: 409, result: 'refused', problem: { code: 'not-expired' } })
  expect(server.state().claims.size).toBe(0)
  server.now = T0 + HOUR
  expect(server.claim('a', click('c1', { want: 'expiring' }))).toMatchObject({ result: 'won' })
  expect(server.claim('a', { ...settle('c1'), outcome: 'expired' })).toMatchObject({ result: 'recorded' })
})

test('K9 I1 a claim may create its token and its session, and the first snapshot shows it', () => {
  const server = createPureServer()
  const won = server.claim('a', click('c1', { leftIn: null }))
  expect(won).toMatchObject({ status: 200, result: 'won', etag: null, etagBefore: null, snapshot: null })
  expect(won.claims).toMatchObject([{ token: 't1', status: 'approving' }])
  server.claim('a', settle('c1'))
  const asked = snapshot(3, { confirmations: [confirmation('t1', { status: 'approved' })] })
  expect(server.put('a', put('w1', asked), null)).toMatchObject({ status: 201 })
  expect(server.statusOf('t1')).toBe('approved')
})

test('R7 a first snapshot that leaves a created token out gets it back', () => {
  const server = createPureServer()
  server.claim('a', click('c1', { leftIn: null }))
  expect(server.put('a', put('w1', snapshot(1)), null).snapshot?.confirmations).toMatchObject([
    { token: 't1', status: 'approving' },
  ])
})

test('K9 a created token appears in the stored snapshot', () => {
  const server = createPureServer()
  server.put('a', put('w1', snapshot(1)), null)
  server.claim('a', click('c1', { leftIn: null }))
  expect(server.statusOf('t1')).toBe('approving')
})

test('E2E 7 K1 a decision that never left its device is not judged by the clock of the server: it ran already', () => {
  const server = createPureServer()
  server.now = T0 + 2 * HOUR
  expect(server.claim('a', click('c1', { leftIn: null }))).toMatchObject({ result: 'won' })
})

test('F12 a claim that creates a second token for one tool call is refused', () => {
  const server = serverWithToken()
  const twin = confirmation('t2', { toolCallId: 'call-t1' })
  const answer = server.claim('b', click('c2', { confirmation: twin, leftIn: null }))
  expect(answer).toMatchObject({ status: 409, result: 'refused', problem: { code: 'snapshot-invalid' } })
  const other = confirmation('t1', { toolCallId: 'call-other' })
  expect(server.claim('b', click('c3', { confirmation: other }))).toMatchObject({ result: 'refused' })
})

test('K9 a claim row outlives its pruning from the snapshot', () => {
  const server = serverWithToken()
  server.claim('a', click('c1'))
  server.claim('a', settle('c1'))
  server.putNext('a', put('w2', snapshot(9)))
  expect(server.statusOf('t1')).toBeUndefined()
  expect(server.claim('b', click('c2'))).toMatchObject({ result: 'lost', claim: { status: 'approved' } })
})

test('K9 a token is claimed once, also across incarnations', () => {
  const server = serverWithToken()
  server.claim('a', click('c1'))
  server.delete('a', 'i1')
  server.put('b', put('w2', snapshot(1), { incarnation: 'i2' }), null)
  expect(server.claim('b', click('c2', { incarnation: 'i2' }))).toMatchObject({ result: 'lost' })
})

test('K8 released, the token is pending again at the next attempt, and the old claimId answers lost', () => {
  const server = serverWithToken()
  server.claim('a', click('c1'))
  const released = server.claim('a', { ...release('c1'), note: 'never ran' })
  expect(released).toMatchObject({ status: 200, result: 'recorded', claim: { status: 'pending', attempt: 1 } })
  expect(released.claim).not.toHaveProperty('device')
  expect(released.etag).toBe('"1000-first.i1.3.c1.1.pending"')
  expect(server.claim('a', release('c1'))).toMatchObject({ result: 'recorded', etag: released.etag })
  expect(server.claim('a', click('c1'))).toMatchObject({ status: 409, result: 'lost' })
  expect(server.claim('b', click('c2'))).toMatchObject({ result: 'won', claim: { attempt: 1 } })
  expect(server.claim('a', release('c1'))).toMatchObject({ result: 'recorded', claim: { claimId: 'c2' } })
  expect(server.statusOf('t1')).toBe('approving')
})

test('F3 only the holder of this attempt can release it, and nobody what is settled', () => {
  const server = serverWithToken()
  server.claim('a', click('c1'))
  expect(server.claim('b', release('c2'))).toMatchObject({ result: 'lost' })
  expect(server.claim('a', release('c1', 1))).toMatchObject({ result: 'lost' })
  server.claim('a', settle('c1'))
  expect(server.claim('a', release('c1'))).toMatchObject({ result: 'lost' })
  expect(server.statusOf('t1')).toBe('approved')
})

test('K8 taken over by a person, the decision is asked again and the old holder has lost', () => {
  const server = serverWithToken()
  server.claim('a', click('c1'))
  const taken = server.claim('b', takeOver('c9'))
  expect(taken).toMatchObject({ result: 'recorded', claim: { status: 'pending', attempt: 1 } })
  expect(server.claim('b', takeOver('c9'))).toMatchObject({ result: 'recorded', etag: taken.etag })
  expect(server.claim('a', click('c1'))).toMatchObject({ result: 'lost' })
  expect(server.state().claims.get('t1')?.evidence).toEqual([
    {
      attempt: 0,
      claimId: 'c1',
      device: 'b',
      label: 'label of b',
      sub: 'person of b',
      at: T0,
      how: 'taken-over',
      note: 'the laptop is gone',
    },
  ])
})

test('K8 a take-over of another attempt than the one that was seen is lost', () => {
  const server = serverWithToken()
  server.claim('a', click('c1'))
  expect(server.claim('b', takeOver('c9', 3))).toMatchObject({ result: 'lost' })
  expect(server.claim('a', settle('c1'))).toMatchObject({ result: 'recorded' })
  expect(server.claim('b', takeOver('c9'))).toMatchObject({ result: 'lost', claim: { status: 'approved' } })
})

test('G2 K8 a late settlement of an attempt that was taken over is kept as evidence, once, and does not settle', () => {
  const server = serverWithToken()
  server.claim('a', click('c1'))
  server.claim('b', takeOver('c9'))
  const before = server.etag()
  const late = [
    { attempt: 0, claimId: 'c1', device: 'a', label: 'label of a', sub: 'person of a', at: T0, outcome: 'approved' },
  ]
  const first = server.claim('a', settle('c1'))
  expect(first).toMatchObject({ status: 409, result: 'lost', claim: { status: 'pending', attempt: 1, late } })
  // The session moves, so that every device looks, and once only.
  expect(first.etagBefore).toBe(before)
  expect(first.etag).not.toBe(before)
  expect(server.claim('a', settle('c1'))).toMatchObject({ result: 'lost', claim: { late }, etag: first.etag })
  expect(server.statusOf('t1')).toBe('pending')
  expect(
    server
      .state()
      .claims.get('t1')
      ?.evidence.map(({ how }) => how),
  ).toEqual(['taken-over', 'late-settlement'])
})

test('K9 a claim and the snapshot that came with it commit together', () => {
  const server = serverWithToken()
  const pending = confirmation('t1', { expiresAt: T0 + HOUR })
  const together = { ifMatch: server.etag() ?? '', snapshot: snapshot(7, { confirmations: [pending] }), writeId: 'w2' }
  const answer = server.claim('a', click('c1', together))
  expect(answer).toMatchObject({ status: 200, result: 'won', lastWriteId: 'w2', etag: '"1000-first.i1.7.w2"' })
  expect(server.statusOf('t1')).toBe('approving')
  expect(server.claim('a', click('c1', together))).toMatchObject({ result: 'won', etag: answer.etag })
})

test('K9 neither commits when the session stands elsewhere, or when the snapshot is refused', () => {
  const server = serverWithToken()
  const stale = { ifMatch: '"1000-first.i1.0.w0"', snapshot: snapshot(7), writeId: 'w2' }
  expect(server.claim('a', click('c1', stale))).toMatchObject({ status: 412, snapshot: { cursor: 1 } })
  const behind = { ifMatch: server.etag() ?? '', snapshot: snapshot(1), writeId: 'w2' }
  expect(server.claim('a', click('c1', behind))).toMatchObject({
    status: 409,
    result: 'refused',
    problem: { code: 'cursor-behind' },
  })
  expect(server.state().claims.size).toBe(0)
  expect(server.statusOf('t1')).toBe('pending')
})

test('K9 a settlement of a token that the server has no claim of is refused as claim-missing, retryable', () => {
  expect(createPureServer().claim('a', settle('c1'))).toMatchObject({
    status: 409,
    result: 'refused',
    problem: { code: 'claim-missing', retryable: true },
    claim: { token: 't1', attempt: 0 },
  })
})

test('I1 claims under an ended incarnation are deleted, beside another live one other-incarnation', () => {
  const server = serverWithToken()
  expect(server.claim('a', click('c1', { incarnation: 'i2' }))).toMatchObject({
    status: 409,
    code: 'other-incarnation',
    incarnation: 'i1',
  })
  server.delete('a', 'i1')
  expect(server.claim('a', click('c1'))).toMatchObject({ status: 410, code: 'deleted' })
})

test('I5 F48 after a restore a token that left earlier is in doubt: nobody wins it until its holder asserts', () => {
  const server = createPureServer()
  server.epoch = '2000-second'
  const asked = server.claim('a', click('c1'))
  // Nobody was given it, and it shows as nobody's.
  const claim = { doubt: true, status: 'pending' }
  expect(asked).toMatchObject({ status: 409, result: 'refused', problem: { code: 'restored' }, claim })
  expect(server.claim('b', click('c2'))).toMatchObject({ result: 'refused', problem: { code: 'restored' } })
  expect(server.claim('a', assert('c1'))).toMatchObject({ result: 'recorded', claim: { doubt: false, claimId: 'c1' } })
  expect(server.claim('a', assert('c1'))).toMatchObject({ result: 'recorded' })
  expect(server.claim('a', click('c1'))).toMatchObject({ result: 'won' })
  expect(server.claim('b', click('c2'))).toMatchObject({ result: 'lost' })
  expect(server.claim('a', settle('c1'))).toMatchObject({ result: 'recorded' })
})

test('I5 a person clears a doubt: the decision is asked again, and the holder who asserts later has lost', () => {
  const server = createPureServer()
  server.epoch = '2000-second'
  server.claim('a', click('c1'))
  const clear = { op: 'clear-doubt', incarnation: 'i1', claimId: 'c9', attempt: 0, note: 'asked the bank' } as const
  expect(server.claim('b', clear)).toMatchObject({ result: 'recorded', claim: { status: 'pending', attempt: 1 } })
  expect(server.claim('b', clear)).toMatchObject({ result: 'recorded' })
  expect(server.claim('a', assert('c1'))).toMatchObject({ result: 'lost' })
  expect(server.claim('b', click('c2', { leftIn: '2000-second' }))).toMatchObject({ result: 'won' })
})

test('I5 G2 a holder asserts what the backup never heard of, and the one who clicks after it has lost', () => {
  for (const server of [createPureServer(), serverWithToken()]) {
    server.epoch = '2000-second'
    expect(server.claim('a', assert('c1'))).toMatchObject({
      result: 'recorded',
      claim: { status: 'approving', claimId: 'c1', device: 'a', doubt: false },
    })
    expect(server.claim('a', assert('c1'))).toMatchObject({ result: 'recorded' })
    expect(server.claim('b', click('c2'))).toMatchObject({ result: 'lost' })
    expect(server.claim('a', settle('c1'))).toMatchObject({ result: 'recorded', claim: { status: 'approved' } })
  }
})

test('I5 the holder says what it wanted, whatever another device clicked before it', () => {
  const server = createPureServer()
  server.epoch = '2000-second'
  server.claim('b', click('c2', { want: 'rejecting' }))
  expect(server.claim('a', assert('c1'))).toMatchObject({ result: 'recorded', claim: { status: 'approving' } })
  expect(server.claim('a', settle('c1'))).toMatchObject({ result: 'recorded', claim: { status: 'approved' } })
})

test('I5 K8 an attempt that the backup does not know stands before the one that it knows, and never the other way', () => {
  const server = serverWithToken()
  server.claim('a', click('c1'))
  expect(server.claim('b', assert('c2', { attempt: 1 }))).toMatchObject({
    result: 'recorded',
    claim: { attempt: 1, claimId: 'c2', device: 'b' },
  })
  expect(server.claim('a', assert('c1'))).toMatchObject({ result: 'lost', claim: { claimId: 'c2' } })
  expect(server.claim('c', assert('c3', { attempt: 1 }))).toMatchObject({ result: 'lost', claim: { claimId: 'c2' } })
})

test('I5 K3 an assertion does not give a tool call a second confirmation', () => {
  const server = serverWithToken({ token: 'other' })
  expect(server.claim('a', assert('c1'))).toMatchObject({ result: 'refused', problem: { code: 'snapshot-invalid' } })
})

const clearDoubt = (claimId: string, attempt = 0) =>
  ({ op: 'clear-doubt', incarnation: 'i1', claimId, attempt, note: 'asked the bank' }) as const
const lateOf = (server: PureServer) =>
  server
    .state()
    .claims.get('t1')
    ?.evidence.filter(({ how }) => how === 'late-settlement')
    .map(({ claimId, attempt, device, outcome }) => [claimId, attempt, device, outcome])

test('K8 I5 G1 a settlement after a person cleared the doubt of it is kept, and told to everybody who asks', () => {
  for (const known of [true, false]) {
    const server = serverWithToken()
    if (known) server.claim('a', click('c1'))
    server.epoch = '2000-second'
    // The backup knows the claim, or only another device's click made the token known.
    if (known) {
      const row = server.state().claims.get('t1')
      if (row) (server.state().claims as Map<string, typeof row>).set('t1', { ...row, doubt: true })
    } else server.claim('b', click('c2'))
    expect(server.claim('b', clearDoubt('c9'))).toMatchObject({ result: 'recorded', claim: { attempt: 1 } })
    expect(server.claim('a', assert('c1'))).toMatchObject({ result: 'lost' })
    const late = [{ attempt: 0, claimId: 'c1', device: 'a', outcome: 'approved' }]
    expect(server.claim('a', settle('c1'))).toMatchObject({ status: 409, result: 'lost', claim: { late } })
    expect(lateOf(server)).toEqual([['c1', 0, 'a', 'approved']])
    const won = server.claim('b', click('c3', { leftIn: '2000-second' }))
    expect(won).toMatchObject({ result: 'won', claims: [{ status: 'approving', attempt: 1, late }] })
    // Settled and told, and still of two minds: whoever comes later hears it too.
    expect(server.claim('b', settle('c3', 1))).toMatchObject({ result: 'recorded', claims: [{ late }] })
  }
})

test('K8 I5 a settlement is kept of a holder beside whom another one of the same attempt stands', () => {
  const server = serverWithToken()
  server.claim('b', click('c2'))
  server.claim('b', settle('c2'))
  const late = [{ attempt: 0, claimId: 'c1', device: 'a', outcome: 'approved' }]
  expect(server.claim('a', assert('c1'))).toMatchObject({ result: 'lost' })
  expect(server.claim('a', settle('c1'))).toMatchObject({ result: 'lost', claim: { status: 'approved', late } })
  expect(server.putNext('b', put('w2', snapshot(9))).claims).toMatchObject([{ attempt: 0, late }])
})

test('K8 a settlement after its release is kept with how it ended', () => {
  const server = serverWithToken()
  server.claim('a', click('c1', { want: 'rejecting' }))
  server.claim('a', release('c1'))
  server.claim('a', { ...settle('c1'), outcome: 'rejected', note: 'it was denied' })
  expect(lateOf(server)).toEqual([['c1', 0, 'a', 'rejected']])
  expect(server.state().claims.get('t1')?.evidence.at(-1)).toMatchObject({ note: 'it was denied' })
})

test('K8 a late settlement brings no token back to a snapshot, and moves no session that took the id', () => {
  const server = serverWithToken()
  server.claim('a', click('c1'))
  server.claim('a', settle('c1'))
  server.putNext('a', put('w2', snapshot(9)))
  expect(server.statusOf('t1')).toBeUndefined()
  server.claim('b', settle('c2'))
  expect(server.statusOf('t1')).toBeUndefined()
  expect(lateOf(server)).toHaveLength(1)
  server.delete('a', 'i1')
  server.put('b', put('w3', snapshot(1), { incarnation: 'i2' }), null)
  const before = server.etag()
  server.claim('b', { ...settle('c3'), incarnation: 'i2' })
  expect(lateOf(server)).toHaveLength(2)
  expect(server.etag()).toBe(before)
})

test('K8 one person makes the evidence no longer than it may be, and pushes out nothing of another', () => {
  const server = serverWithToken()
  server.claim('a', click('c1'))
  server.claim('b', takeOver('c9'))
  for (let at = 0; at < 100; at++) server.claim('hostile', settle(`x${at}`))
  const cursor = server.state().session?.cursor
  expect(server.claim('hostile', settle('x100'))).toMatchObject({ result: 'lost' })
  expect(server.state().session?.cursor).toBe(cursor)
  for (let attempt = 1; attempt < 60; attempt++) {
    server.claim('hostile', click(`y${attempt}`))
    server.claim('hostile', release(`y${attempt}`, attempt))
    server.claim('hostile', click(`z${attempt}`, {}))
    server.claim('hostile', takeOver('x', attempt))
  }
  server.claim('a', settle('c1'))
  const evidence = server.state().claims.get('t1')?.evidence ?? []
  expect(evidence.length).toBeLessThan(64)
  expect(evidence.filter(({ sub }) => sub !== 'person of hostile')).toMatchObject([
    { how: 'taken-over', claimId: 'c1' },
    { how: 'late-settlement', claimId: 'c1' },
  ])
})
