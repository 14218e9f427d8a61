import type { SessionRow } from '../core/device-session.ts'
import type { Environment } from '../core/environment.ts'
import type { AccessToken } from './access-token.ts'
import type { Documents } from './documents.ts'
import { type LiveSocket, openLiveSocket } from './live-socket.ts'
import type { LiveSockets, SocketEvents } from './live-sockets.ts'

export interface LiveSocketsOptions extends SocketEvents {
  readonly serverUrl: string
  readonly device: string
  readonly token: AccessToken
  readonly documents: Documents
  /** How far this device and the server are with the session. */
  readonly position: (
    sessionId: string,
  ) => Promise<Pick<SessionRow, 'incarnation' | 'pulled' | 'confirmed' | 'refused'> | undefined>
  readonly environment: Environment
  readonly onError: (error: unknown) => void
}

export function openLiveSockets(options: LiveSocketsOptions): LiveSockets {
  const sockets = new Map<string, LiveSocket>()
  let closed = false
  return {
    mark: async (sessionId) => (await sockets.get(sessionId)?.mark()) ?? false,
    follow(sessionIds) {
      if (closed) return
      for (const [sessionId, socket] of sockets) {
        if (sessionIds.has(sessionId)) continue
        socket.close()
        sockets.delete(sessionId)
      }
      for (const sessionId of sessionIds) {
        if (!sockets.has(sessionId)) sockets.set(sessionId, openLiveSocket(sessionId, options))
      }
    },
    retryNow(sessionId) {
      if (sessionId !== undefined) sockets.get(sessionId)?.retryNow()
      else for (const socket of sockets.values()) socket.retryNow()
    },
    close() {
      closed = true
      for (const socket of sockets.values()) socket.close()
      sockets.clear()
    },
  }
}
