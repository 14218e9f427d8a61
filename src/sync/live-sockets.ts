import type { ETag } from '../protocol/identity.ts'

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

/** What a socket tells of its session. */
export interface SocketEvents {
  /** All updates up to `head` are stored; the session stands at `etag`. */
  readonly onChanged: (sessionId: string, head: number, etag: ETag | null) => void
  /** The server closed the room for good. */
  readonly onRefused: (sessionId: string, closeCode: number) => void
  readonly onWelcome: (sessionId: string, epoch: string, time: number) => void
  /** The server does not know the session, as far as this device knows. */
  readonly onUnknown: () => void
}
