import * as decoding from 'lib0/decoding'
import { Awareness } from 'y-protocols/awareness'
import { WebsocketProvider } from 'y-websocket'
import type { OpenDocument } from '../messages/open-document.ts'
import { PROTOCOL_VERSION } from '../protocol/answer-fields.ts'
import { isPermanentClose } from '../protocol/close-codes.ts'
import { BEARER_PREFIX, paths, roomName, SUBPROTOCOL } from '../protocol/paths.ts'
import { decodeSignal, encodeSignal, SIGNAL_FRAME, type Signal } from '../protocol/signal.ts'
import { createBackOff } from './back-off.ts'
import type { LiveSocketsOptions } from './open-live-sockets.ts'

export interface LiveSocket {
  /** See `LiveSockets.mark`. */
  readonly mark: () => Promise<boolean>
  /** Connects at once, if it is not connected. */
  readonly retryNow: () => void
  readonly close: () => void
}

/** A mark that is not answered by then means that the socket is dead, whatever it says of itself. */
const MARK_TIMEOUT_MS = 10_000
/** Shorter than the provider's own 30 s watchdog: an answered mark keeps an idle socket alive and proves it. */
const HEARTBEAT_MS = 12_000
/** How often it is looked for a session that is open here and that the server does not know yet. */
const LOOK_AGAIN_MS = 2000
const SYNC_FRAME = 0
const SYNC_STEP_1 = 0

/** One session's room: y-websocket's provider for the messages, frame 100 for everything else. */
export function openLiveSocket(sessionId: string, options: LiveSocketsOptions): LiveSocket {
  const { environment, documents } = options
  const { timers } = environment
  const backOff = createBackOff(environment.random)
  const marks = new Map<number, (marked: boolean) => void>()
  let lastMark = 0
  let open: { provider: WebsocketProvider; document: OpenDocument; end: () => void } | undefined
  /** The server asked for what it lacks and was answered, and it speaks our signals. */
  let live = { answered: false, welcome: false }
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
      const attempt = open || starting ? connect() : start()
      attempt.catch(options.onError)
    },
    close() {
      closed = true
      letGo()
    },
  }

  function letGo(): void {
    timers.clearTimeout(timer)
    endMarks()
    open?.end()
    open = undefined
    live = { answered: false, welcome: false }
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
        WebSocketPolyfill: environment.WebSocket,
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
    await connect()
  }

  async function connect(): Promise<void> {
    if (!open || closed) return
    const position = await options.position(sessionId)
    // The server makes a session at its first update, snapshot or claim; until then there is no room to join, and nobody
    // tells when another device has made it.
    if (!position?.confirmed) {
      timers.clearTimeout(timer)
      timer = timers.setTimeout(() => {
        options.onUnknown()
        connect().catch(options.onError)
      }, LOOK_AGAIN_MS)
      return
    }
    const token = typeof options.token === 'function' ? await options.token() : options.token
    if (closed || !open || open.provider.wsconnected || open.provider.wsconnecting) return
    open.provider.roomname = roomName(sessionId, open.document.incarnation)
    open.provider.protocols = token === undefined ? [SUBPROTOCOL] : [SUBPROTOCOL, BEARER_PREFIX + token]
    open.provider.connect()
  }

  function listen(provider: WebsocketProvider): void {
    const stock = provider.messageHandlers[SYNC_FRAME]
    provider.messageHandlers[SYNC_FRAME] = (encoder, decoder, each, emitSynced, type) => {
      const asks = decoding.peekVarUint(decoder) === SYNC_STEP_1
      stock?.(encoder, decoder, each, emitSynced, type)
      if (asks) live.answered = true
    }
    provider.messageHandlers[SIGNAL_FRAME] = (_encoder, decoder) => {
      const signal = decodeSignal(decoder)
      if (signal) hear(signal)
    }
    provider.on('status', ({ status }) => {
      if (status === 'connected') hello().catch(options.onError)
    })
    provider.on('connection-close', () => {
      live = { answered: false, welcome: false }
      endMarks()
    })
    provider.on('closed', ({ code }) => {
      if (closed) return
      if (isPermanentClose(code)) options.onRefused(sessionId, code)
      else timer = timers.setTimeout(() => connect().catch(options.onError), backOff.nextMs())
    })
  }

  async function hello(): Promise<void> {
    const position = await options.position(sessionId)
    send({ kind: 'hello', version: PROTOCOL_VERSION, device: options.device, since: position?.pulled ?? 0 })
  }

  function hear(signal: Signal): void {
    switch (signal.kind) {
      case 'welcome':
        live.welcome = true
        options.onWelcome(sessionId, signal.epoch, signal.time)
        break
      case 'changed':
        stored(signal.head, signal.etag).catch(options.onError)
        break
      case 'marked':
        // Only now it did its work: a room that is closed at every welcome is not to be stormed.
        backOff.reset()
        marks.get(signal.n)?.(true)
        marks.delete(signal.n)
        break
      case 'hello':
      case 'mark':
        break
    }
  }

  async function stored(head: number, etag: string | null): Promise<void> {
    await open?.document.flush()
    if (!closed) options.onChanged(sessionId, head, etag)
  }

  async function mark(): Promise<boolean> {
    if (!open || !live.answered || !live.welcome) return false
    // Updates of other tabs that this document has not heard of yet would not have been sent.
    await open.document.catchUp()
    return ask()
  }

  function ask(): Promise<boolean> {
    const n = ++lastMark
    return new Promise((resolve) => {
      const bound = timers.setTimeout(() => {
        finish(false)
        // Silent for this long is a half-open socket: let go of it, and come back.
        open?.provider.disconnect()
        if (!closed) timer = timers.setTimeout(() => connect().catch(options.onError), backOff.nextMs())
      }, MARK_TIMEOUT_MS)
      const finish = (marked: boolean) => {
        timers.clearTimeout(bound)
        marks.delete(n)
        resolve(marked)
      }
      marks.set(n, finish)
      if (!send({ kind: 'mark', n })) finish(false)
    })
  }

  function beat(): () => void {
    let next: unknown
    const schedule = () => {
      next = timers.setTimeout(() => {
        if (live.welcome) ask().catch(options.onError)
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

  function endMarks(): void {
    for (const finish of [...marks.values()]) finish(false)
    marks.clear()
  }
}
