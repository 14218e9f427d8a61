import type { Epoch, ETag, Incarnation } from '../protocol/identity.ts'
import type { Signal } from '../protocol/signal.ts'

/** The sockets of the sessions that are open on this device, held by the tab that sends. */
export interface LiveSockets {
  /**
   * Makes sure that everything on disk was sent on the session's socket, and waits until the server has it durably.
   * False: there is no socket, or it ended first; send by HTTP.
   */
  readonly mark: (sessionId: string) => Promise<boolean>
  /** Opens and closes sockets so that exactly these sessions have one. */
  readonly follow: (sessionIds: ReadonlySet<string>) => void
  /** Connects at once what is not connected: one session's socket, or all. */
  readonly retryNow: (sessionId?: string) => void
  readonly close: () => void
}

/** `another-epoch`: it is being taken in, and `settled` says when the socket may come back; false: not to this server. */
export type Admission =
  | { readonly kind: 'admitted' | 'refused' }
  | { readonly kind: 'another-epoch'; readonly settled: Promise<boolean> }

export type Welcome = Extract<Signal, { kind: 'welcome' }>

/** Where the session stands, of the incarnation and in the epoch that the socket was joined for. */
export interface SocketPosition {
  readonly incarnation: Incarnation
  readonly epoch: Epoch | undefined
  readonly head: number
  readonly etag: ETag | null
}

/** What a socket tells of its session. */
export interface SocketEvents {
  /** All updates up to `head` are stored; the session stands at `etag`. */
  readonly onChanged: (sessionId: string, at: SocketPosition) => void
  /** A socket ended that worked: the server may be gone. */
  readonly onLost: (sessionId: string) => void
  /** The server closed the room for good. */
  readonly onRefused: (sessionId: string, closeCode: number) => void
  /** The server of the socket said who it is. `since`: as told. Nothing is exchanged with it unless this answers `admitted`. */
  readonly onWelcome: (welcome: Welcome, since: number) => Admission
  /** The epoch that this device knows. */
  readonly epoch: () => Epoch | undefined
  /** Something is larger than a frame: it has to go by HTTP. */
  readonly onTooLarge: (sessionId: string) => void
  /** The server does not know the session, as far as this device knows. */
  readonly onUnknown: () => void
}
