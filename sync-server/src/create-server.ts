import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { RejoinError } from '../../src/errors.ts'
import { createApp } from './app.ts'
import { createAuthenticate } from './authenticate.ts'
import { createHandler } from './handler.ts'
import { createMetrics } from './metrics.ts'
import { createRelay } from './relay.ts'
import { isLoopback } from './request-origin.ts'
import { createSessionChanges } from './session-changes.ts'
import type { Store } from './store.ts'
import { openSqliteStore } from './store-sqlite.ts'
import { createUpdateLog } from './update-log.ts'

export interface ServerOptions {
  /** The SQLite file, or `:memory:`; ignored with a `store`. */
  readonly file?: string
  /** A store of the host's; the server closes it. */
  readonly store?: Store
  /** The address to listen on, `127.0.0.1` unless said otherwise. Another than loopback needs `jwtSecret`. */
  readonly host?: string
  /** 8787 unless said otherwise; 0 takes a free one. */
  readonly port?: number
  /** Verifies access tokens (JWT, HS256); at least 32 bytes. Without it there is one account, for this machine only. */
  readonly jwtSecret?: string
  /** The one account when there is no secret; `local` unless said otherwise. */
  readonly account?: string
  /** The server's identity, which devices remember; `rejoin` unless said otherwise. */
  readonly name?: string
  /** Pages of these origins may ask, beside those that the server itself serves. */
  readonly origins?: readonly string[]
  /** Of one address; 30,000 unless said otherwise. */
  readonly requestsPerMinute?: number
  /** Of one session's messages; 256 MiB unless said otherwise. */
  readonly maxSessionBytes?: number
  /** Warnings and errors as JSON lines on stderr; off unless said otherwise. */
  readonly log?: boolean
  /** Epoch ms; the clock that judges leases and expiry. */
  readonly now?: () => number
  /** Adds routes of the host to the same process, beside `/v1`. */
  readonly extend?: (app: FastifyInstance) => void | Promise<void>
}

/** A server that is ready but does not listen: `app.inject` answers without a socket. */
export interface RejoinServer {
  readonly app: FastifyInstance
  /** Resolves with the address, such as `http://127.0.0.1:8787`; rejects as `net.Server` does, with `EADDRINUSE`. */
  readonly listen: () => Promise<string>
  /** Answers what is under way, sends the sockets away (1012), and closes the store. */
  readonly close: () => Promise<void>
}

export interface RunningServer {
  readonly url: string
  readonly close: () => Promise<void>
}

const DEFAULT_PORT = 8787
const IDLE_LOOK_MS = 20
const CLOSE_WITHIN_MS = 3000
const DEFAULT_MAX_SESSION_BYTES = 256 * 1024 * 1024

/**
 * Puts the server together. Rejects with `refused` when it would be open to others without authentication, and with
 * `storage-unavailable` when the store cannot be opened.
 */
export async function createServer(options: ServerOptions): Promise<RejoinServer> {
  const { host = '127.0.0.1', port = DEFAULT_PORT, jwtSecret, now = Date.now } = options
  if (jwtSecret === undefined && !isLoopback(host)) {
    throw new RejoinError('refused', `Without authentication the server does not listen on ${host}.`, {
      hint: 'Configure a secret for access tokens (--jwt-secret), or listen on 127.0.0.1.',
    })
  }
  const authenticate = createAuthenticate({ jwtSecret, account: options.account ?? 'local', now })
  const metrics = createMetrics()
  const store =
    options.store ??
    (await openSqliteStore({
      file: options.file ?? ':memory:',
      now,
      onCommit: (decisions) => {
        metrics.count('rejoin_commits_total')
        metrics.count('rejoin_decisions_total', '', decisions)
      },
    }))
  const server = { name: options.name ?? 'rejoin', store, now }
  const changes = createSessionChanges()
  const log = createUpdateLog({
    server,
    changes,
    newIncarnation: randomUUID,
    maxSessionBytes: options.maxSessionBytes ?? DEFAULT_MAX_SESSION_BYTES,
  })
  const relay = createRelay({
    server,
    changes,
    log,
    onMisuse: (_peer, reason) => metrics.count('rejoin_refusals_total', reason),
  })
  metrics.gauge('rejoin_sockets', 'Open sockets.', relay.socketCount)
  const app = await createApp({
    server,
    handler: createHandler({ server, changes, log }),
    relay,
    metrics,
    authenticate,
    open: jwtSecret === undefined,
    origins: options.origins ?? [],
    requestsPerMinute: options.requestsPerMinute ?? 30_000,
    log: options.log ?? false,
    extend: options.extend,
  })

  return {
    app,
    listen: async () => {
      await app.listen({ host, port })
      return urlOf(host, app.server.address() as AddressInfo)
    },
    close: async () => {
      await closeApp(app)
      await store.close()
    },
  }
}

/** Requests under way are answered; a connection that is kept alive, or says nothing at all, does not hold us. */
async function closeApp(app: FastifyInstance): Promise<void> {
  const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_LOOK_MS)
  const rest = setTimeout(() => app.server.closeAllConnections(), CLOSE_WITHIN_MS)
  try {
    await app.close()
  } finally {
    clearInterval(idle)
    clearTimeout(rest)
  }
}

/** {@link createServer}, listening. Nothing is left behind when it cannot. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const server = await createServer(options)
  try {
    const url = await server.listen()
    return { url, close: server.close }
  } catch (error) {
    await server.close()
    throw error
  }
}

function urlOf(host: string, { port }: AddressInfo): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
