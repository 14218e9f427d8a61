import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import rateLimit from '@fastify/rate-limit'
import websocket from '@fastify/websocket'
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { isRejoinError } from '../../src/errors.ts'
import { DEVICE_HEADER } from '../../src/protocol/answer-fields.ts'
import { MAX_FRAME_BYTES, MAX_JSON_DEPTH, MAX_REQUEST_BYTES } from '../../src/protocol/limits.ts'
import { SUBPROTOCOL } from '../../src/protocol/paths.ts'
import type { ProblemCode } from '../../src/protocol/problem.ts'
import { LABEL_HEADER } from '../../src/protocol/registration.ts'
import type { Authenticate } from './authenticate.ts'
import type { ServerIdentity } from './caller.ts'
import type { Handler } from './handler.ts'
import { isDeeperThan } from './json-depth.ts'
import type { Metrics } from './metrics.ts'
import { PROBLEMS } from './problems.ts'
import type { Relay } from './relay.ts'
import { isAllowedOrigin, isLoopback, namesLoopback } from './request-origin.ts'
import { RequestProblem } from './request-problem.ts'
import { addRoutes } from './routes.ts'
import { isRefusal } from './rules/reply.ts'

export interface AppOptions {
  readonly server: ServerIdentity
  readonly handler: Handler
  readonly relay: Relay
  readonly metrics: Metrics
  readonly authenticate: Authenticate
  /** Without authentication only this machine may ask. */
  readonly open: boolean
  /** Pages of these origins may ask, beside those of the server's own. */
  readonly origins: readonly string[]
  /** Of one address. */
  readonly requestsPerMinute: number
  /** Warnings and errors as JSON lines on stderr. */
  readonly log: boolean
  /** Routes of the host, beside `/v1`. */
  readonly extend?: ((app: FastifyInstance) => void | Promise<void>) | undefined
}

/** Longest id twice, and what joins them: `sessionId@incarnation`. */
const MAX_PARAM_LENGTH = 300

/** HTTP and upgrades before the handler and the relay. Not listening yet. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { server, relay, metrics, origins, open } = options
  const app = fastify({
    bodyLimit: MAX_REQUEST_BYTES,
    requestTimeout: 30_000,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // The path and never the query, which is where access tokens end up by mistake.
    logger: options.log && {
      level: 'warn',
      serializers: { req: (request: FastifyRequest) => ({ method: request.method, path: pathOf(request.url) }) },
      stream: process.stderr,
    },
  })
  await app.register(websocket, {
    options: {
      maxPayload: MAX_FRAME_BYTES,
      perMessageDeflate: false,
      handleProtocols: (protocols: Set<string>) => (protocols.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    },
    // A frame that cannot be read has closed its socket already, with a code that the default handler would cut short.
    errorHandler: (error, socket, request) => {
      if (socket.readyState !== socket.OPEN) return
      request.log.error({ err: error, path: pathOf(request.url) }, 'socket failed')
      socket.terminate()
    },
    preClose: (done) => {
      relay.close()
      done()
    },
  })
  app.addHook('onRequest', async (request) => {
    if (open && !namesLoopback(request.headers)) {
      throw new RequestProblem('forbidden', 'Without authentication this server answers to loopback names only.')
    }
    if (request.ws && !isAllowedOrigin(request.headers, origins)) {
      throw new RequestProblem('forbidden', 'This origin is not allowed.', 'Start the server with --origin.')
    }
  })
  app.addHook('onResponse', async (_request, reply) => {
    metrics.count('rejoin_requests_total', `${Math.floor(reply.statusCode / 100)}xx`)
  })
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const problem = problemOf(error)
    const { code, hint } = problem
    if (code === 'internal') request.log.error({ err: error, path: pathOf(request.url) }, 'request failed')
    if (code === 'unauthorized' || code === 'forbidden') {
      const why = problem.why ?? problem.message
      request.log.warn({ code, path: pathOf(request.url), why, hint }, 'refused')
    }
    if (code === 'unauthorized') reply.header('www-authenticate', 'Bearer')
    const { account } = request.identity ?? {}
    const { status, retryable } = PROBLEMS[code]
    const at = server.now()
    send(reply, metrics, {
      status,
      body: {
        server: server.name,
        ...(account !== undefined && { account }),
        epoch: server.store.epoch,
        time: at,
        code,
        message: problem.message,
        retryable,
        ...(hint !== undefined && { hint }),
        at,
      },
    })
  })
  app.decorateRequest('identity', null)
  addOperations(app, options)
  // biome-ignore lint/nursery/noMisusedPromises: Fastify awaits a plugin that returns a promise.
  await app.register((api) => addApi(api, options), { prefix: '/v1' })
  await options.extend?.(app)
  return app
}

async function addApi(api: FastifyInstance, options: AppOptions): Promise<void> {
  const { metrics, origins } = options
  await api.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: { 'default-src': ["'none'"] } },
    // Whether this host speaks TLS is its operator's business.
    strictTransportSecurity: false,
    // Pages of allowed origins read the answers; which ones is decided below.
    crossOriginResourcePolicy: { policy: 'cross-origin' },
  })
  if (origins.length > 0) {
    await api.register(cors, {
      origin: [...origins],
      methods: ['GET', 'PUT', 'POST', 'DELETE'],
      allowedHeaders: ['authorization', 'content-type', 'if-match', 'if-none-match', DEVICE_HEADER, LABEL_HEADER],
      exposedHeaders: ['etag', 'retry-after'],
      maxAge: 600,
    })
  }
  await api.register(rateLimit, {
    max: options.requestsPerMinute,
    timeWindow: 60_000,
    errorResponseBuilder: () => new RequestProblem('rate-limited', 'Too many requests.', 'Wait as Retry-After says.'),
  })
  acceptJson(api)
  api.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const query = request.query as Record<string, unknown>
    if ('token' in query || 'access_token' in query) {
      throw new RequestProblem('bad-request', 'An access token does not belong in a URL.', 'Send it as Authorization.')
    }
    if (request.headers['content-encoding'] !== undefined) {
      throw new RequestProblem('bad-request', 'Compressed requests are not accepted.')
    }
    request.identity = await options.authenticate(request.headers)
  })
  api.setNotFoundHandler(() => {
    throw new RequestProblem('not-found', 'There is no such resource.')
  })
  addRoutes(api, options, (reply, answer) => send(reply, metrics, answer))
}

/** JSON only, and looked at before it is parsed. */
function acceptJson(api: FastifyInstance): void {
  const parse = api.getDefaultJsonParser('error', 'error')
  api.removeAllContentTypeParsers()
  api.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (isDeeperThan(body as string, MAX_JSON_DEPTH)) {
      done(new RequestProblem('too-deep', `JSON may nest ${MAX_JSON_DEPTH} levels.`))
    } else void parse(request, body as string, done)
  })
}

/** For whoever operates the server. The numbers are for this machine only. */
function addOperations(app: FastifyInstance, { server, metrics }: AppOptions): void {
  app.get('/healthz', async () => ({ ok: true }))
  app.get('/readyz', async () => {
    // Asks the store something, so that one that is gone shows.
    await server.store.feed('', 0, 1)
    return { ok: true, server: server.name, epoch: server.store.epoch, time: server.now() }
  })
  app.get('/metrics', async (request, reply) => {
    if (!isLoopback(request.ip.replace(/^::ffff:/, ''))) {
      throw new RequestProblem('not-found', 'There is no such resource.')
    }
    return reply.type('text/plain; version=0.0.4').send(metrics.render())
  })
}

export interface Answer {
  readonly status: number
  readonly body: object
}

function send(reply: FastifyReply, metrics: Metrics, { status, body }: Answer): void {
  if (isRefusal(body)) {
    metrics.count('rejoin_refusals_total', body.code)
    reply.type('application/problem+json')
  } else reply.type('application/json')
  if ('etag' in body && typeof body.etag === 'string') reply.header('etag', body.etag)
  reply.code(status).serializer(JSON.stringify).send(body)
}

function problemOf(error: FastifyError): {
  readonly code: ProblemCode
  readonly message: string
  readonly hint?: string | undefined
  readonly why?: string | undefined
} {
  if (error instanceof RequestProblem) return error
  if (isRejoinError(error)) return { code: 'not-ready', message: 'The store is not available.' }
  if (error.statusCode === 413)
    return { code: 'too-large', message: `A request is limited to ${MAX_REQUEST_BYTES} bytes.` }
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return { code: 'bad-request', message: 'The request is not one that can be read.' }
  }
  return { code: 'internal', message: 'Something went wrong on the server.' }
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? ''
}
