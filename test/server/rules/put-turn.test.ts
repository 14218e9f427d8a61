import { expect, test } from 'vitest'
import { put, snapshot } from '../sessions.ts'
import { createPureServer } from './pure-server.ts'

const take = (turnId: string) => ({ op: 'take', incarnation: 'i1', turnId, leaseMs: 20_000 }) as const
const renew = (turnId: string) => ({ op: 'renew', incarnation: 'i1', turnId, leaseMs: 20_000 }) as const
const release = (turnId: string) => ({ op: 'release', incarnation: 'i1', turnId, outcome: 'completed' }) as const

test('T1 F44 one lease is live at a time, by the clock of the server', () => {
  const server = createPureServer()
  const first = server.turn('a', take('turn1'))
  expect(first).toMatchObject({
    status: 200,
    granted: true,
    lease: { turnId: 'turn1', device: 'a', expiresAt: server.now + 20_000 },
  })
  expect(server.turn('b', take('turn2'))).toMatchObject({ status: 200, granted: false, lease: first.lease })
  server.now += 20_000
  expect(server.turn('b', take('turn2'))).toMatchObject({ granted: true, lease: { device: 'b' } })
})

test('T1 a device that asks for its own live turn again gets it, another device does not', () => {
  const server = createPureServer()
  server.turn('a', take('turn1'))
  expect(server.turn('a', take('turn1')).granted).toBe(true)
  expect(server.turn('b', take('turn1')).granted).toBe(false)
})

test('T1 a turn that ended is not taken again, and its first outcome stays', () => {
  const server = createPureServer()
  server.turn('a', take('turn1'))
  expect(server.turn('a', release('turn1'))).toMatchObject({ granted: true, lease: null })
  expect(server.turn('a', { ...release('turn1'), outcome: 'indeterminate' }).granted).toBe(true)
  expect(server.state().turn?.outcome).toBe('completed')
  for (const device of ['a', 'b']) expect(server.turn(device, take('turn1')).granted).toBe(false)
})

test('T1 a release lets the next device in, and nobody releases the live turn of another', () => {
  const server = createPureServer()
  server.turn('a', take('turn1'))
  expect(server.turn('b', release('turn1'))).toMatchObject({ granted: false, lease: { device: 'a' } })
  server.turn('a', release('turn1'))
  expect(server.turn('b', take('turn2')).granted).toBe(true)
})

test('T1 a lease is renewed by its device only, also late if nobody else took one', () => {
  const server = createPureServer()
  expect(server.turn('a', renew('turn1')).granted).toBe(false)
  server.turn('a', take('turn1'))
  expect(server.turn('b', renew('turn1')).granted).toBe(false)
  server.now += 30_000
  expect(server.turn('a', renew('turn1'))).toMatchObject({ granted: true, lease: { expiresAt: server.now + 20_000 } })
})

test('R6 a lease moves no ETag', () => {
  const server = createPureServer()
  const { etag } = server.put('a', put('w1', snapshot(1)), null)
  expect(server.turn('a', take('turn1'))).toMatchObject({ granted: true, etag, etagBefore: etag })
})

test('T1 a snapshot that comes with a turn is stored with it or not at all', () => {
  const server = createPureServer()
  const { etag } = server.put('a', put('w1', snapshot(1)), null)
  const activeTurn = { turnId: 'turn1', expiresAt: server.now + 20_000 }
  const together = { ifMatch: etag ?? '', snapshot: snapshot(2, { activeTurn }), writeId: 'w2' }
  expect(server.turn('a', { ...take('turn1'), ...together })).toMatchObject({
    granted: true,
    snapshot: { cursor: 2, activeTurn },
    lastWriteId: 'w2',
  })
  expect(server.turn('b', { ...take('turn2'), ...together }).granted).toBe(false)
  server.now += 20_000
  expect(server.turn('b', { ...take('turn2'), ...together })).toMatchObject({ status: 412, snapshot: { cursor: 2 } })
  expect(server.state().lease?.turnId).toBe('turn1')
})

test('T1 a turn may be taken before the session is on the server, and makes none', () => {
  const server = createPureServer()
  expect(server.turn('a', take('turn1'))).toMatchObject({ granted: true, etag: null, snapshot: null })
  expect(server.state().session).toBeNull()
})
