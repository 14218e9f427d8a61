import * as decoding from 'lib0/decoding'
import * as encoding from 'lib0/encoding'
import type { Common } from './answer-fields.ts'

/**
 * Frame 100 of a room's socket, spoken only to sockets that have spoken one, so that stock y-websocket peers never see
 * it. One frame is `varUint 100 · varUint kind · fields`:
 *
 * - `hello` 0, device → server: `varUint version · varString device · varUint since`.
 * - `welcome` 1, server → device: `varUint version · varString server · varString account · varString epoch ·
 *   varString incarnation · varUint head · varUint time`. Says what every HTTP answer says; a device exchanges nothing
 *   before it has seen that this is its server, its account and the epoch that it knows.
 * - `mark` 2, device → server: `varUint n`. Asks when everything sent before on this socket is durable.
 * - `marked` 3, server → device: `varUint n`. It is.
 * - `changed` 4, server → device: `varUint head · varString etag` (empty: no snapshot). All updates up to `head` were
 *   sent on this socket, and the session stands at `etag`.
 */
export const SIGNAL_FRAME = 100

export type Signal =
  | { readonly kind: 'hello'; readonly version: number; readonly device: string; readonly since: number }
  | ({
      readonly kind: 'welcome'
      readonly version: number
      /** Empty: there is no session yet, and the socket named no incarnation. */
      readonly incarnation: string
      readonly head: number
    } & Common)
  | { readonly kind: 'mark'; readonly n: number }
  | { readonly kind: 'marked'; readonly n: number }
  | { readonly kind: 'changed'; readonly head: number; readonly etag: string | null }

const KINDS = ['hello', 'welcome', 'mark', 'marked', 'changed'] as const

export function encodeSignal(signal: Signal): Uint8Array<ArrayBuffer> {
  const encoder = encoding.createEncoder()
  encoding.writeVarUint(encoder, SIGNAL_FRAME)
  encoding.writeVarUint(encoder, KINDS.indexOf(signal.kind))
  switch (signal.kind) {
    case 'hello':
      encoding.writeVarUint(encoder, signal.version)
      encoding.writeVarString(encoder, signal.device)
      encoding.writeVarUint(encoder, signal.since)
      break
    case 'welcome':
      encoding.writeVarUint(encoder, signal.version)
      encoding.writeVarString(encoder, signal.server)
      encoding.writeVarString(encoder, signal.account)
      encoding.writeVarString(encoder, signal.epoch)
      encoding.writeVarString(encoder, signal.incarnation)
      encoding.writeVarUint(encoder, signal.head)
      encoding.writeVarUint(encoder, signal.time)
      break
    case 'mark':
    case 'marked':
      encoding.writeVarUint(encoder, signal.n)
      break
    case 'changed':
      encoding.writeVarUint(encoder, signal.head)
      encoding.writeVarString(encoder, signal.etag ?? '')
      break
  }
  return encoding.toUint8Array(encoder)
}

/** Reads what follows the frame type. `undefined` for anything malformed or unknown; never throws. */
export function decodeSignal(decoder: decoding.Decoder): Signal | undefined {
  try {
    const kind = KINDS[decoding.readVarUint(decoder)]
    const signal = kind && readFields(kind, decoder)
    return signal && !decoding.hasContent(decoder) ? signal : undefined
  } catch {
    return undefined
  }
}

function readFields(kind: (typeof KINDS)[number], decoder: decoding.Decoder): Signal {
  const uint = () => decoding.readVarUint(decoder)
  const text = () => decoding.readVarString(decoder)
  switch (kind) {
    case 'hello':
      return { kind, version: uint(), device: text(), since: uint() }
    case 'welcome':
      return {
        kind,
        version: uint(),
        server: text(),
        account: text(),
        epoch: text(),
        incarnation: text(),
        head: uint(),
        time: uint(),
      }
    case 'mark':
    case 'marked':
      return { kind, n: uint() }
    case 'changed':
      return { kind, head: uint(), etag: text() || null }
  }
}
