import * as decoding from 'lib0/decoding'
import * as encoding from 'lib0/encoding'
import { Awareness } from 'y-protocols/awareness'
import { writeSyncStep1 } from 'y-protocols/sync'
import { WebsocketProvider } from 'y-websocket'
import { areMessagesRefused } from '../core/refused-messages.ts'
import { RejoinError } from '../errors.ts'
import type { OpenDocument } from '../messages/open-document.ts'
import { withinTime } from '../messages/within-time.ts'
import { PROTOCOL_VERSION } from '../protocol/answer-fields.ts'
import { isPermanentClose } from '../protocol/close-codes.ts'
import type { Epoch, Incarnation } from '../protocol/identity.ts'
import { MAX_FRAME_BYTES } from '../protocol/limits.ts'
import { BEARER_PREFIX, paths, roomName, SUBPROTOCOL } from '../protocol/paths.ts'
import { decodeSignal, encodeSignal, SIGNAL_FRAME, type Signal } from '../protocol/signal.ts'
import { readAccessToken } from './access-token.ts'
import { createBackOff } from './back-off.ts'
import { gatedSocket } from './gated-socket.ts'
import type { Welcome } from './live-sockets.ts'
import type { LiveSocketsOptions } from './open-live-sockets.ts'
import { createSocketMarks } from './socket-marks.ts'

export interface LiveSocket {
  /** See `LiveSockets.mark`. */
  readonly mark: () => Promise<boolean>
  /** Connects at once, if it is not connected. */
  readonly retryNow: () => void
  readonly close: () => void
}

/** How far the server of the open socket and this device are with each other. */
interface Live {
  /** The one that the position in `hello` belongs to. */
  readonly epoch: Epoch | undefined
  /** The position in `hello`. */
  readonly since: number
  /** It is the right server, and speaks our signals. */
  readonly admitted: boolean
  /** It asked for what it lacks and was answered. */
  readonly answered: boolean
  /** Something was too large for a frame since it asked. */
  readonly withheld: boolean
}

const notYet: Live = { epoch: undefined, since: 0, admitted: false, answered: false, withheld: false }

const TOKEN_TIMEOUT_MS = 15_000
/** Shorter than the provider's own 30 s watchdog: an answered mark keeps an idle socket alive and proves it. */
const HEARTBEAT_MS = 12_000
/**
 * A session that is open here may be made on another device next: the feed is asked for it soon, and then less and less
 * often, until the engine's own look at it is as frequent.
 */
const LOOK_FIRST_MS = 2000
const LOOK_LONGEST_MS = 20_000
const MAX_LOOKS = 6
const SYNC_FRAME = 0
const SYNC_STEP_1 = 0
const SYNC_UPDATE = 2

/** One session's room: y-websocket's provider for the messages, frame 100 for everything else. */
export function openLiveSocket(sessionId: string, options: LiveSocketsOptions): LiveSocket {
  const { environment, documents } = options
  const { timers } = environment
  const backOff = createBackOff(environment.random)
  const marks = createSocketMarks({
    timers,
    send: (n) => send({ kind: 'mark', n }),
    onSilent() {
      // Silent for this long is a half-open socket: let go of it, and come back.
      open?.provider.disconnect()
      connectLater()
    },
  })
  /** The incarnation whose room was asked for last. */
  let joined: Incarnation | undefined
  let open: { provider: WebsocketProvider; document: OpenDocument; end: () => void } | undefined
  const lookAgain = createBackOff(environment.random, { firstMs: LOOK_FIRST_MS, longestMs: LOOK_LONGEST_MS })
  let looks = 0
  let live: Live = notYet
  let closed = false
  let starting = false
  let timer: unknown

  start().catch(options.onError)
  return {
    mark,
    retryNow() {
      if (closed || open?.provider.wsconnected) return
      timers.clearTimeout(timer)
      backOff.reset()
      if (open || starting) tryToConnect()
      else start().catch(options.onError)
    },
    close() {
      closed = true
      letGo()
    },
  }

  function letGo(): void {
    timers.clearTimeout(timer)
    marks.end()
    open?.end()
    open = undefined
    live = notYet
  }

  async function start(): Promise<void> {
    starting = true
    const document = await documents.open(sessionId).finally(() => {
      starting = false
    })
    if (closed) return
    const awareness = new Awareness(document.doc)
    awareness.setLocalState(null)
    const provider = new WebsocketProvider(
      options.serverUrl.replace(/^http/, 'ws') + paths.rooms,
      roomName(sessionId, document.incarnation),
      document.doc,
      {
        awareness,
        connect: false,
        disableBc: true,
        WebSocketPolyfill: gatedSocket(environment.WebSocket, mayPass),
        // We come back by our own back-off, which has jitter.
        shouldReconnect: () => false,
      },
    )
    const removeOrigin = document.addServerOrigin(provider)
    listen(provider)
    const heartbeat = beat()
    // Deleted: what lives under this id next has another document, and is joined when the server knows it.
    document.ended.addEventListener('abort', letGo, { once: true })
    open = {
      provider,
      document,
      end() {
        document.ended.removeEventListener('abort', letGo)
        heartbeat()
        provider.destroy()
        awareness.destroy()
        removeOrigin()
      },
    }
    tryToConnect()
  }

  /** Whatever stands in the way, the access token above all, may be out of it the next time. */
  function tryToConnect(): void {
    connect().catch((error: unknown) => {
      options.onError(error)
      connectLater()
    })
  }

  async function connect(): Promise<void> {
    if (!open || closed) return
    const position = await options.position(sessionId)
    // The server makes a session at its first update, snapshot or claim; until then there is no room to join, and nobody
    // tells when another device has made it.
    if (!position?.confirmed) {
      timers.clearTimeout(timer)
      if (looks++ < MAX_LOOKS) timer = timers.setTimeout(options.onUnknown, lookAgain.nextMs())
      return
    }
    // Its document would be sent as soon as the server asks.
    if (areMessagesRefused(position)) return
    const token = await accessToken()
    if (closed || !open || open.provider.wsconnected || open.provider.wsconnecting) return
    if (open.document.incarnation !== position.incarnation) {
      // The document is about to hear of it, or to end: it must not speak in the room of another.
      connectLater()
      return
    }
    joined = position.incarnation
    open.provider.roomname = roomName(sessionId, joined)
    open.provider.protocols = token === undefined ? [SUBPROTOCOL] : [SUBPROTOCOL, BEARER_PREFIX + token]
    open.provider.connect()
  }

  function connectLater(): void {
    if (closed) return
    timers.clearTimeout(timer)
    timer = timers.setTimeout(tryToConnect, backOff.nextMs())
  }

  /** A host's function that never settles must not keep the session from being followed. */
  function accessToken(): Promise<string | undefined> {
    const late = () => new RejoinError('unauthorized', 'No access token was given within 15 s.')
    return withinTime(readAccessToken(options.token), TOKEN_TIMEOUT_MS, late, { timers })
  }

  /** The provider sends by itself: nothing before the server is known to be the right one, nothing that it cannot take. */
  function mayPass(frame: Uint8Array): boolean {
    if (frame[0] === SIGNAL_FRAME) return true
    if (!live.admitted) return false
    // An edit would stand on what is missing there.
    if (live.withheld && frame[1] === SYNC_UPDATE) return false
    if (frame.length <= MAX_FRAME_BYTES) return true
    live = { ...live, answered: false, withheld: true }
    options.onTooLarge(sessionId)
    return false
  }

  function listen(provider: WebsocketProvider): void {
    const stock = provider.messageHandlers[SYNC_FRAME]
    provider.messageHandlers[SYNC_FRAME] = (encoder, decoder, each, emitSynced, type) => {
      if (!live.admitted) return
      const asks = decoding.peekVarUint(decoder) === SYNC_STEP_1
      stock?.(encoder, decoder, each, emitSynced, type)
      // The provider sends its answer when this returns: one that is too large is withheld, and takes this back.
      if (asks) live = { ...live, answered: true, withheld: false }
    }
    provider.messageHandlers[SIGNAL_FRAME] = (_encoder, decoder) => {
      const signal = decodeSignal(decoder)
      if (signal) hear(signal)
    }
    provider.on('status', ({ status }) => {
      if (status === 'connected') hello().catch(options.onError)
    })
    provider.on('connection-close', () => {
      if (live.admitted && !closed) options.onLost(sessionId)
      live = notYet
      marks.end()
    })
    provider.on('closed', ({ code }) => {
      if (closed) return
      if (isPermanentClose(code)) refused(code).catch(options.onError)
      else connectLater()
    })
  }

  /** For good, unless the session took the incarnation that lives there while this room was asked for, rule I2. */
  async function refused(code: number): Promise<void> {
    const position = await options.position(sessionId)
    if (closed) return
    if (position?.confirmed && position.incarnation !== joined) tryToConnect()
    else options.onRefused(sessionId, code)
  }

  async function hello(): Promise<void> {
    // Before the position: one of an earlier epoch must not be taken for one of this.
    live = { ...notYet, epoch: options.epoch() }
    const { pulled: since = 0 } = (await options.position(sessionId)) ?? {}
    live = { ...live, since }
    send({ kind: 'hello', version: PROTOCOL_VERSION, device: options.device, since })
  }

  function hear(signal: Signal): void {
    switch (signal.kind) {
      case 'welcome':
        welcome(signal)
        break
      case 'changed':
        if (isCurrent()) stored(signal.head, signal.etag).catch(options.onError)
        break
      case 'marked':
        // Only now it did its work: a room that is closed at every welcome is not to be stormed.
        backOff.reset()
        marks.answered(signal.n)
        break
      case 'hello':
      case 'mark':
        break
    }
  }

  function welcome(said: Welcome): void {
    const { provider } = open ?? {}
    const admission = options.onWelcome(said, live.epoch === said.epoch ? live.since : 0)
    if (!provider) return
    if (admission.kind === 'admitted' && said.epoch === live.epoch) {
      live = { ...live, admitted: true }
      askForMissing()
      return
    }
    // What comes on this socket follows a position of another epoch.
    provider.disconnect()
    if (admission.kind === 'refused') return
    const settled = admission.kind === 'another-epoch' ? admission.settled : Promise.resolve(true)
    settled
      // Not known: an earlier epoch, of a server that is not restored yet, or is about to go.
      .then((known) => (known ? tryToConnect() : connectLater()))
      .catch(options.onError)
  }

  /** The server answers with what this document lacks, and asks for what it lacks itself. */
  function askForMissing(): void {
    if (!open?.provider.ws) return
    const encoder = encoding.createEncoder()
    encoding.writeVarUint(encoder, SYNC_FRAME)
    writeSyncStep1(encoder, open.document.doc)
    open.provider.ws.send(encoding.toUint8Array(encoder))
  }

  /** The socket speaks for the epoch that this device knows. */
  function isCurrent(): boolean {
    return live.admitted && live.epoch === options.epoch()
  }

  async function stored(head: number, etag: string | null): Promise<void> {
    const document = open?.document
    const incarnation = joined
    if (!document || incarnation === undefined) return
    await document.flush()
    // Another document, or another epoch, may have begun meanwhile, in which the position means nothing.
    if (closed || open?.document !== document || !isCurrent()) return
    options.onChanged(sessionId, { incarnation, epoch: live.epoch, head, etag })
  }

  async function mark(): Promise<boolean> {
    if (!open || !isCurrent()) return false
    // What was withheld went by HTTP meanwhile, or is about to: once the server says what it lacks, the socket is as good.
    if (live.withheld) askForMissing()
    if (!live.answered) return false
    // Updates of other tabs that this document has not heard of yet would not have been sent.
    await open.document.catchUp()
    return live.answered ? marks.ask() : false
  }

  function beat(): () => void {
    let next: unknown
    const schedule = () => {
      next = timers.setTimeout(() => {
        if (live.admitted) marks.ask().catch(options.onError)
        schedule()
      }, HEARTBEAT_MS)
    }
    schedule()
    return () => timers.clearTimeout(next)
  }

  function send(signal: Signal): boolean {
    const socket = open?.provider.ws
    if (!socket || socket.readyState !== socket.OPEN) return false
    socket.send(encodeSignal(signal))
    return true
  }
}
