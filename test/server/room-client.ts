import * as decoding from 'lib0/decoding'
import WebSocket from 'ws'
import { decodeSignal, encodeSignal, SIGNAL_FRAME, type Signal } from '../../src/protocol/signal.ts'
import { decodeRoomFrame, type RoomFrame } from '../../sync-server/src/room-frames.ts'

/** A socket in a room that remembers what came and can be asked to wait for it. */
export interface RoomClient {
  readonly socket: WebSocket
  readonly frames: readonly RoomFrame[]
  readonly send: (bytes: Uint8Array | string) => void
  readonly signal: (signal: Signal) => void
  /** The first frame that matches, of those that were not given out before. */
  readonly next: <T extends RoomFrame>(matches: (frame: RoomFrame) => frame is T) => Promise<T>
  readonly nextSignal: <K extends Signal['kind']>(kind: K) => Promise<Extract<Signal, { kind: K }>>
  /** Resolves with the close code. */
  readonly closed: Promise<number>
  readonly close: () => void
}

export async function joinRoom(
  url: string,
  room: string,
  options: { readonly protocols?: readonly string[]; readonly origin?: string; readonly host?: string } = {},
): Promise<RoomClient> {
  const { protocols = [], origin, host } = options
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/rooms/${room}`, [...protocols], {
    ...(origin !== undefined && { origin }),
    ...(host !== undefined && { headers: { host } }),
  })
  const frames: RoomFrame[] = []
  const waiting = new Set<() => void>()
  let taken = new Set<RoomFrame>()
  socket.on('message', (data: Buffer) => {
    const frame = decodeRoomFrame(data) ?? signalOf(data)
    if (frame) frames.push(frame)
    for (const look of waiting) look()
  })
  const closed = new Promise<number>((resolve) => {
    socket.on('close', (code) => resolve(code))
  })
  await new Promise<void>((resolve, reject) => {
    socket.on('open', () => resolve())
    socket.on('unexpected-response', (_request, response) => {
      response.resume()
      reject(Object.assign(new Error('refused'), { status: response.statusCode }))
    })
    socket.on('error', reject)
  })

  function next<T extends RoomFrame>(matches: (frame: RoomFrame) => frame is T): Promise<T> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const frame = frames.find((it): it is T => !taken.has(it) && matches(it))
        if (!frame) return
        waiting.delete(look)
        taken = new Set([...taken, frame])
        resolve(frame)
      }
      waiting.add(look)
      closed.then((code) => reject(new Error(`closed with ${code}`)), reject)
      look()
    })
  }

  return {
    socket,
    frames,
    send: (bytes) => socket.send(bytes),
    signal: (signal) => socket.send(encodeSignal(signal)),
    next,
    nextSignal: async <K extends Signal['kind']>(kind: K) => {
      const frame = await next(
        (it): it is Extract<RoomFrame, { kind: 'signal' }> => it.kind === 'signal' && it.signal.kind === kind,
      )
      return frame.signal as Extract<Signal, { kind: K }>
    },
    closed,
    close: () => socket.close(),
  }
}

export const isUpdate = (frame: RoomFrame) => frame.kind === 'update'
export const isStep1 = (frame: RoomFrame) => frame.kind === 'step-1'

function signalOf(data: Buffer): RoomFrame | undefined {
  const decoder = decoding.createDecoder(new Uint8Array(data))
  if (decoding.readVarUint(decoder) !== SIGNAL_FRAME) return undefined
  const signal = decodeSignal(decoder)
  return signal && { kind: 'signal', signal }
}
