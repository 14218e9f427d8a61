/** What a cut network does to an open socket. */
export interface Cuttable {
  readonly cut: () => void
}

export interface SocketSwitch {
  readonly isOn: () => boolean
  readonly opened: (socket: Cuttable) => void
  readonly closed: (socket: Cuttable) => void
}

const ABNORMAL_CLOSURE = 1006

/**
 * A WebSocket that a switch can cut: its owner then sees at once what a lost network shows it in the end, an error and
 * the close code 1006. While the switch is off, a new one is refused in the same way.
 */
export function switchedWebSocket(Base: typeof WebSocket, network: SocketSwitch): typeof WebSocket {
  class SwitchedSocket extends EventTarget implements Cuttable {
    static readonly CONNECTING = 0
    static readonly OPEN = 1
    static readonly CLOSING = 2
    static readonly CLOSED = 3
    readonly CONNECTING = 0
    readonly OPEN = 1
    readonly CLOSING = 2
    readonly CLOSED = 3
    onopen: ((event: Event) => void) | null = null
    onmessage: ((event: MessageEvent) => void) | null = null
    onerror: ((event: Event) => void) | null = null
    onclose: ((event: CloseEvent) => void) | null = null
    readonly url: string
    #socket: WebSocket | undefined
    #lost = false
    #binaryType: BinaryType = 'blob'

    constructor(url: string | URL, protocols?: string | string[]) {
      super()
      this.url = String(url)
      if (!network.isOn()) {
        // Refused, but not before its owner had a chance to listen.
        setTimeout(() => this.cut())
        return
      }
      const socket = new Base(url, protocols)
      this.#socket = socket
      network.opened(this)
      socket.addEventListener('open', () => this.#tell(new Event('open')))
      socket.addEventListener('error', () => this.#tell(new Event('error')))
      socket.addEventListener('message', ({ data }) => this.#tell(new MessageEvent('message', { data })))
      socket.addEventListener('close', ({ code, reason, wasClean }) => {
        network.closed(this)
        this.#tell(new CloseEvent('close', { code, reason, wasClean }))
      })
    }

    get readyState(): number {
      return this.#lost ? this.CLOSED : (this.#socket?.readyState ?? this.CONNECTING)
    }
    get bufferedAmount(): number {
      return this.#socket?.bufferedAmount ?? 0
    }
    get protocol(): string {
      return this.#socket?.protocol ?? ''
    }
    get extensions(): string {
      return this.#socket?.extensions ?? ''
    }
    get binaryType(): BinaryType {
      return this.#binaryType
    }
    set binaryType(type: BinaryType) {
      this.#binaryType = type
      if (this.#socket) this.#socket.binaryType = type
    }

    send(data: string | BufferSource | Blob): void {
      if (!this.#lost) this.#socket?.send(data)
    }

    close(code?: number, reason?: string): void {
      this.#socket?.close(code, reason)
    }

    cut(): void {
      if (this.#lost) return
      network.closed(this)
      this.#socket?.close()
      this.#tell(new Event('error'))
      const close = new CloseEvent('close', { code: ABNORMAL_CLOSURE, wasClean: false })
      this.#lost = true
      this.#deliver(close)
    }

    /** Nothing arrives over a network that is gone. */
    #tell(event: Event): void {
      if (!this.#lost) this.#deliver(event)
    }

    #deliver(event: Event): void {
      this.dispatchEvent(event)
      if (event.type === 'open') this.onopen?.(event)
      if (event.type === 'error') this.onerror?.(event)
      if (event instanceof MessageEvent) this.onmessage?.(event)
      if (event instanceof CloseEvent) this.onclose?.(event)
    }
  }
  return SwitchedSocket as unknown as typeof WebSocket
}
