import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { WebSocket } from 'ws'
import { createMember, type Member } from '../../sync-server/src/room-member.ts'

/** A socket that goes nowhere. */
function createSilentSocket() {
  const calls: string[] = []
  const socket = Object.assign(new EventEmitter(), {
    OPEN: 1,
    readyState: 1,
    bufferedAmount: 0,
    isPaused: false,
    send: () => calls.push('send'),
    ping: () => calls.push('ping'),
    close: (code: number) => calls.push(`close ${code}`),
    terminate: () => calls.push('terminate'),
    pause: () => {
      socket.isPaused = true
    },
    resume: () => {
      socket.isPaused = false
    },
  })
  return { socket, calls }
}

const peer = { account: 'acme', sub: 'ann', sessionId: 's1' }
const asWebSocket = (socket: object) => socket as WebSocket
const members: Member[] = []
const member = (socket: object, expiresAt?: number) => {
  const created = createMember(asWebSocket(socket), { ...peer, expiresAt }, Date.now)
  members.push(created)
  return created
}

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  for (const each of members.splice(0)) each.release()
  vi.useRealTimers()
})

test('F63 a socket is closed with 4401 when its token has ended for 30 seconds', () => {
  const { socket, calls } = createSilentSocket()
  member(socket, Date.now() + 60_000)
  vi.advanceTimersByTime(89_999)
  expect(calls).toEqual([])
  vi.advanceTimersByTime(1)
  expect(calls).toEqual(['close 4401'])
})

test('a token that ends in years does not end now: timers are shorter than that', () => {
  const { socket, calls } = createSilentSocket()
  const year = 365 * 24 * 3_600_000
  member(socket, Date.now() + year)
  vi.advanceTimersByTime(year)
  expect(calls).toEqual([])
  vi.advanceTimersByTime(30_000)
  expect(calls).toEqual(['close 4401'])
})

test('nothing is left of a member that is gone', () => {
  const { socket } = createSilentSocket()
  const gone = member(socket, Date.now() + 60_000)
  expect(vi.getTimerCount()).toBe(1)
  gone.release()
  expect(vi.getTimerCount()).toBe(0)
})

test('F50 a socket that did not answer the last heartbeat is cut off', () => {
  const { socket, calls } = createSilentSocket()
  const silent = member(socket)
  silent.beat()
  socket.emit('pong')
  silent.beat()
  silent.beat()
  expect(calls).toEqual(['ping', 'ping', 'terminate'])
})

test('a socket that does not read is let go with 4508 before it fills the memory', async () => {
  const { socket, calls } = createSilentSocket()
  const slow = member(socket)
  socket.bufferedAmount = 8 * 1024 * 1024
  slow.send(new Uint8Array(1))
  socket.bufferedAmount++
  slow.send(new Uint8Array(1))
  await slow.sendAndFlush(new Uint8Array(1))
  expect(calls).toEqual(['send', 'close 4508'])
})

test('a socket is not read from while too much of what it sent is not stored', async () => {
  const { socket } = createSilentSocket()
  const eager = member(socket)
  let store = () => {}
  const stored = new Promise<void>((resolve) => {
    store = resolve
  })
  const held = Array.from({ length: 256 }, () => eager.hold(stored))
  expect(socket.isPaused).toBe(true)
  store()
  await Promise.all(held)
  expect(socket.isPaused).toBe(false)
})

test('F50 F62 a socket is closed once, and cut off when it does not answer; then nothing is left of it', () => {
  const { socket, calls } = createSilentSocket()
  const silent = member(socket)
  expect(silent.isClosing()).toBe(false)
  silent.close(4422, 'update-invalid')
  silent.close(4410, 'deleted')
  silent.send(new Uint8Array(1))
  expect(silent.isClosing()).toBe(true)
  vi.advanceTimersByTime(9999)
  expect(calls).toEqual(['close 4422'])
  vi.advanceTimersByTime(1)
  expect(calls).toEqual(['close 4422', 'terminate'])
  const answering = member(createSilentSocket().socket)
  answering.close(4422, 'update-invalid')
  answering.release()
  expect(vi.getTimerCount()).toBe(0)
})

test('F62 a socket that is not read from is read again when it is sent away, to see its answer', async () => {
  const { socket } = createSilentSocket()
  const eager = member(socket)
  const never = new Promise<void>(() => {})
  for (let at = 0; at < 256; at++) void eager.hold(never)
  expect(socket.isPaused).toBe(true)
  eager.close(4503, 'try again')
  void eager.hold(never)
  expect(socket.isPaused).toBe(false)
})
