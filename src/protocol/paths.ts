import type { Incarnation } from './identity.ts'

/** The resources of the server, relative to its URL. Ids are SafeIds, so that they need no escaping. */
export const paths = {
  feed: (since: number) => `/v1/sessions?since=${since}`,
  session: (sessionId: string) => `/v1/sessions/${sessionId}`,
  deleteSession: (sessionId: string, incarnation: Incarnation) =>
    `/v1/sessions/${sessionId}?incarnation=${incarnation}`,
  claim: (sessionId: string, token: string) => `/v1/sessions/${sessionId}/claims/${token}`,
  turn: (sessionId: string) => `/v1/sessions/${sessionId}/turn`,
  updates: (sessionId: string) => `/v1/sessions/${sessionId}/updates`,
  updatesSince: (sessionId: string, since: number, incarnation: Incarnation) =>
    `/v1/sessions/${sessionId}/updates?since=${since}&incarnation=${incarnation}`,
  /** Under it lie the rooms; a room's name follows. */
  rooms: '/v1/rooms',
}

/** The room of our clients names the incarnation; stock y-websocket clients join by the session id alone. */
export function roomName(sessionId: string, incarnation: Incarnation): string {
  return `${sessionId}@${incarnation}`
}

export function parseRoomName(room: string): { readonly sessionId: string; readonly incarnation?: Incarnation } {
  const at = room.indexOf('@')
  return at < 0 ? { sessionId: room } : { sessionId: room.slice(0, at), incarnation: room.slice(at + 1) }
}

/** WebSocket subprotocols: the access token travels as the second one, never in a URL. */
export const SUBPROTOCOL = 'rejoin.v1'
export const BEARER_PREFIX = 'bearer.'
