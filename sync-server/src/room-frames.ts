import * as decoding from 'lib0/decoding'
import * as encoding from 'lib0/encoding'
import { MAX_JSON_DEPTH } from '../../src/protocol/limits.ts'
import { decodeSignal, SIGNAL_FRAME, type Signal } from '../../src/protocol/signal.ts'
import { type ByteReader, createByteReader } from './byte-reader.ts'
import { isDeeperThan } from './json-depth.ts'

/*
 * The frames of a room, as y-websocket speaks them:
 *
 *   sync       0 · 0 · state vector    what the sender has; asks for the rest
 *              0 · 1 · update          the answer to that
 *              0 · 2 · update          an edit
 *   awareness  1 · states              who is there; relayed, never stored
 *   query      3                       asks for awareness
 *   signal     100 · …                 ours, see the protocol's signal
 */
const SYNC = 0
const AWARENESS = 1
const QUERY_AWARENESS = 3
const STEP_1 = 0
const STEP_2 = 1
const UPDATE = 2

export type RoomFrame =
  | { readonly kind: 'step-1'; readonly stateVector: Uint8Array }
  /** `answer`: it holds everything that the asked state vector lacked. */
  | { readonly kind: 'update'; readonly bytes: Uint8Array; readonly answer: boolean }
  | { readonly kind: 'awareness' }
  | { readonly kind: 'query-awareness' }
  | { readonly kind: 'signal'; readonly signal: Signal }

const MAX_AWARENESS_BYTES = 16 * 1024
const MAX_SIGNAL_BYTES = 1024

/** Reads one frame. `undefined` for everything malformed; never throws. */
export function decodeRoomFrame(bytes: Uint8Array): RoomFrame | undefined {
  try {
    const reader = createByteReader(bytes)
    switch (reader.varUint()) {
      case SYNC:
        return readSync(reader)
      case AWARENESS:
        return isAwareness(reader) ? { kind: 'awareness' } : undefined
      case QUERY_AWARENESS:
        return reader.remaining() === 0 ? { kind: 'query-awareness' } : undefined
      case SIGNAL_FRAME:
        return readSignal(bytes)
      default:
        return undefined
    }
  } catch {
    return undefined
  }
}

function readSync(reader: ByteReader): RoomFrame | undefined {
  const step = reader.varUint()
  const bytes = reader.take(reader.varUint())
  if (reader.remaining() > 0) return undefined
  if (step === STEP_1) return isStateVector(bytes) ? { kind: 'step-1', stateVector: bytes } : undefined
  if (step === STEP_2 || step === UPDATE) return { kind: 'update', bytes, answer: step === STEP_2 }
  return undefined
}

function isStateVector(bytes: Uint8Array): boolean {
  const reader = createByteReader(bytes)
  for (let left = reader.varUint() * 2; left > 0; left--) reader.varUint()
  return reader.remaining() === 0
}

/** What is relayed to others must be readable there: each state is JSON. */
function isAwareness(reader: ByteReader): boolean {
  const states = createByteReader(reader.take(reader.varUint()))
  if (reader.remaining() > 0 || states.remaining() > MAX_AWARENESS_BYTES) return false
  for (let left = states.varUint(); left > 0; left--) {
    states.varUint()
    states.varUint()
    const text = new TextDecoder('utf-8', { fatal: true }).decode(states.take(states.varUint()))
    if (isDeeperThan(text, MAX_JSON_DEPTH)) return false
    JSON.parse(text)
  }
  return states.remaining() === 0
}

function readSignal(bytes: Uint8Array): RoomFrame | undefined {
  if (bytes.length > MAX_SIGNAL_BYTES) return undefined
  // A copy: the reader of signals trusts that a buffer ends where its array ends.
  const decoder = decoding.createDecoder(new Uint8Array(bytes))
  decoding.readVarUint(decoder)
  const signal = decodeSignal(decoder)
  return signal && { kind: 'signal', signal }
}

export function encodeStep1(stateVector: Uint8Array): Uint8Array {
  return encodeSync(STEP_1, stateVector)
}

export function encodeStep2(update: Uint8Array): Uint8Array {
  return encodeSync(STEP_2, update)
}

export function encodeUpdate(update: Uint8Array): Uint8Array {
  return encodeSync(UPDATE, update)
}

function encodeSync(step: number, bytes: Uint8Array): Uint8Array {
  const encoder = encoding.createEncoder()
  encoding.writeVarUint(encoder, SYNC)
  encoding.writeVarUint(encoder, step)
  encoding.writeVarUint8Array(encoder, bytes)
  return encoding.toUint8Array(encoder)
}
