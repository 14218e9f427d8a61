import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { parseRoomName } from '../../src/protocol/paths.ts'
import type { Identity } from './authenticate.ts'
import type { Caller } from './caller.ts'
import type { Handler } from './handler.ts'
import type { Metrics } from './metrics.ts'
import {
  readCaller,
  readCondition,
  readId,
  readPostUpdates,
  readPutClaim,
  readPutSession,
  readPutTurn,
  readQuery,
} from './read-request.ts'
import type { Relay } from './relay.ts'
import { RequestProblem } from './request-problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set before any route of `/v1` runs. */
    identity: Identity | null
  }
}

interface Answer {
  readonly status: number
  readonly body: object
}

export interface RouteTargets {
  readonly handler: Handler
  readonly relay: Relay
  readonly metrics: Metrics
}

interface Params {
  readonly id: string
  readonly token: string
  readonly room: string
}

/** The resources of `/v1`: reads the request, calls the handler, sends the answer. */
export function addRoutes(
  api: FastifyInstance,
  { handler, relay, metrics }: RouteTargets,
  send: (reply: FastifyReply, answer: Answer) => void,
): void {
  const route =
    (run: (caller: Caller, params: Params, request: FastifyRequest) => Promise<Answer>) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      send(reply, await run(readCaller(identityOf(request), request.headers), request.params as Params, request))
      return reply
    }

  api.get(
    '/sessions',
    route((caller, _params, { query }) => handler.feed(caller, readQuery(query, 'since'))),
  )
  api.get(
    '/sessions/:id',
    route((caller, { id }) => handler.getSession(caller, readId(id, 'session'))),
  )
  api.put(
    '/sessions/:id',
    route((caller, { id }, { headers, body }) => {
      const sessionId = readId(id, 'session')
      return handler.putSession(caller, sessionId, readCondition(headers), readPutSession(body, sessionId))
    }),
  )
  api.delete(
    '/sessions/:id',
    route((caller, { id }, { query }) =>
      handler.deleteSession(caller, readId(id, 'session'), readQuery(query, 'incarnation')),
    ),
  )
  api.put(
    '/sessions/:id/claims/:token',
    route(async (caller, { id, token }, { body }) => {
      const request = readPutClaim(body, readId(token, 'token'))
      const answer = await handler.putClaim(caller, readId(id, 'session'), token, request)
      if ('result' in answer.body) metrics.count('rejoin_claims_total', answer.body.result)
      return answer
    }),
  )
  api.put(
    '/sessions/:id/turn',
    route((caller, { id }, { body }) => handler.putTurn(caller, readId(id, 'session'), readPutTurn(body))),
  )
  api.get(
    '/sessions/:id/updates',
    route((caller, { id }, { query }) =>
      handler.getUpdates(caller, readId(id, 'session'), readQuery(query, 'since'), readQuery(query, 'incarnation')),
    ),
  )
  api.post(
    '/sessions/:id/updates',
    route((caller, { id }, { body }) => handler.postUpdates(caller, readId(id, 'session'), readPostUpdates(body))),
  )

  api.get(
    '/rooms/:room',
    { websocket: true, preValidation: async (request) => void readRoom(request) },
    (socket, request) => relay.join(socket, { ...identityOf(request), ...readRoom(request) }),
  )
}

function readRoom(request: FastifyRequest): { readonly sessionId: string; readonly incarnation?: string } {
  const { sessionId, incarnation } = parseRoomName((request.params as Params).room)
  readId(sessionId, 'session')
  return incarnation === undefined ? { sessionId } : { sessionId, incarnation: readId(incarnation, 'incarnation') }
}

function identityOf({ identity }: FastifyRequest): Identity {
  if (!identity) throw new RequestProblem('unauthorized', 'An access token is needed.')
  return identity
}
