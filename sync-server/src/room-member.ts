import type { WebSocket } from 'ws'
import { CLOSE_CODES } from '../../src/protocol/close-codes.ts'
import type { Incarnation } from '../../src/protocol/identity.ts'
import { encodeSignal, type Signal } from '../../src/protocol/signal.ts'

/** Who is at the other end of a room's socket, decided before the upgrade. */
export interface Peer {
  readonly account: string
  readonly sub: string
  readonly sessionId: string
  /** Absent for a stock peer, who joins whatever lives under the id. */
  readonly incarnation?: Incarnation | undefined
  /** Epoch ms; absent: the right to be here does not end. */
  readonly expiresAt?: number | undefined
}

/** One socket in a room. */
export interface Member {
  readonly peer: Peer
  /** As it named itself; a stock peer does not. */
  device: string
  /** It has spoken a signal, and so may be sent some. */
  speaksSignals: boolean
  /** It is being sent the log; `changed` waits. */
  catchingUp: boolean
  /** Something of it was not stored, since its predecessors are missing; marks wait for the repair. */
  gapped: boolean
  readonly heldMarks: number[]
  /** Settles with the last update that it sent. */
  stored: Promise<void>
  readonly send: (bytes: Uint8Array) => void
  /** Resolves when the bytes are out of this process, or the socket is gone. */
  readonly sendAndFlush: (bytes: Uint8Array) => Promise<void>
  readonly signal: (signal: Signal) => void
  /** Begins the end, once: nothing is taken any more, and whoever does not answer is cut off 10 s later. */
  readonly close: (code: number, reason: string) => void
  readonly isClosing: () => boolean
  /** Ends the connection without asking. */
  readonly cutOff: () => void
  /** Stops reading from it while too much of what it asked for is not done. */
  readonly hold: (work: Promise<void>) => Promise<void>
  /** A round of the heartbeat: whoever did not answer the last one is cut off. */
  readonly beat: () => void
  /** Ends its timers. */
  readonly release: () => void
}

const MAX_BUFFERED_BYTES = 8 * 1024 * 1024
const MAX_FRAMES_UNDER_WAY = 256
/** How long after its access token ended a socket may stay, for the token to be renewed by a new socket. */
const EXPIRY_GRACE_MS = 30_000
const MAX_TIMER_MS = 2 ** 31 - 1
const ANSWER_CLOSE_WITHIN_MS = 10_000

export function createMember(socket: WebSocket, peer: Peer, now: () => number): Member {
  let alive = true
  let underWay = 0
  let expiry: NodeJS.Timeout | undefined
  let closing: NodeJS.Timeout | undefined
  socket.on('pong', () => {
    alive = true
  })

  function send(bytes: Uint8Array): void {
    if (!isWritable()) return
    socket.send(bytes)
  }

  /** A peer that does not read is let go before what waits for it fills the memory; it pulls when it comes back. */
  function isWritable(): boolean {
    if (closing !== undefined || socket.readyState !== socket.OPEN) return false
    if (socket.bufferedAmount <= MAX_BUFFERED_BYTES) return true
    close(CLOSE_CODES.slowConsumer, 'too slow')
    return false
  }

  function close(code: number, reason: string): void {
    if (closing !== undefined) return
    closing = setTimeout(() => socket.terminate(), ANSWER_CLOSE_WITHIN_MS).unref()
    socket.close(code, reason)
    // The answer to the close comes behind what was not read yet.
    if (socket.isPaused) socket.resume()
  }

  async function hold(work: Promise<void>): Promise<void> {
    if (++underWay >= MAX_FRAMES_UNDER_WAY && closing === undefined) socket.pause()
    try {
      await work
    } finally {
      if (--underWay < MAX_FRAMES_UNDER_WAY && socket.isPaused) socket.resume()
    }
  }

  function watchExpiry(expiresAt: number): void {
    const wait = expiresAt + EXPIRY_GRACE_MS - now()
    if (wait <= 0) close(CLOSE_CODES.unauthorized, 'the access token expired')
    else expiry = setTimeout(() => watchExpiry(expiresAt), Math.min(wait, MAX_TIMER_MS)).unref()
  }
  if (peer.expiresAt !== undefined) watchExpiry(peer.expiresAt)

  return {
    peer,
    device: 'stock-peer',
    speaksSignals: false,
    catchingUp: false,
    gapped: false,
    heldMarks: [],
    stored: Promise.resolve(),
    send,
    sendAndFlush: (bytes) =>
      new Promise((resolve) => {
        if (isWritable()) socket.send(bytes, () => resolve())
        else resolve()
      }),
    signal: (signal) => send(encodeSignal(signal)),
    close,
    isClosing: () => closing !== undefined || socket.readyState !== socket.OPEN,
    cutOff: () => socket.terminate(),
    hold,
    beat: () => {
      if (!alive) {
        socket.terminate()
        return
      }
      alive = false
      if (socket.readyState === socket.OPEN) socket.ping()
    },
    release: () => {
      clearTimeout(expiry)
      clearTimeout(closing)
    },
  }
}
