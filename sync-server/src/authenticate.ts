import type { IncomingHttpHeaders } from 'node:http'
import { errors, jwtVerify } from 'jose'
import * as z from 'zod/mini'
import { RejoinError } from '../../src/errors.ts'
import { BEARER_PREFIX } from '../../src/protocol/paths.ts'
import { RequestProblem } from './request-problem.ts'

/** Who a request speaks for: the account is the workspace, `sub` the person in it. */
export interface Identity {
  readonly account: string
  readonly sub: string
  /** Epoch ms; absent where there are no access tokens. */
  readonly expiresAt?: number | undefined
}

/** Rejects with a {@link RequestProblem} `unauthorized`. */
export type Authenticate = (headers: IncomingHttpHeaders) => Promise<Identity>

export interface AuthenticateOptions {
  /** Absent: there is one account and no proof, which is for loopback only. */
  readonly jwtSecret?: string | undefined
  /** The one account when there is no secret. */
  readonly account: string
  readonly now: () => number
}

/** HS256 wants a key as long as its hash. */
const MIN_SECRET_BYTES = 32

const CLAIMS_HINT =
  'Issue access tokens with the claims "account" (the workspace) and "sub" (the person), 1 to 256 characters each.'
const ENDLESS_HINT = 'Issue access tokens with the claim "exp": the time at which they end, in seconds since 1970.'

const name = z.string().check(z.minLength(1), z.maxLength(256))
const ClaimsSchema = z.object({ account: name, sub: name, exp: z.optional(z.number()) })

/**
 * Reads the access token of `Authorization: Bearer` or, for a socket, of the second subprotocol; never of a URL. It is
 * a JWT, signed with the shared secret by HS256, with the claims `account`, `sub` and `exp`. One that names no end is
 * refused: rights end with the token, and nobody could take it back.
 */
export function createAuthenticate({ jwtSecret, account, now }: AuthenticateOptions): Authenticate {
  if (jwtSecret === undefined) return async () => ({ account, sub: 'local' })
  const key = new TextEncoder().encode(jwtSecret)
  if (key.length < MIN_SECRET_BYTES) {
    throw new RejoinError('refused', 'The secret for access tokens is too short.', {
      hint: `Use at least ${MIN_SECRET_BYTES} random bytes, such as "openssl rand -base64 32" prints.`,
    })
  }
  return async (headers) => {
    const token = readToken(headers)
    if (!token) throw new RequestProblem('unauthorized', 'An access token is needed.')
    const options = { algorithms: ['HS256'], currentDate: new Date(now()) }
    // Why a token does not verify is nobody's business but its issuer's, who looks into the log.
    const verified = await jwtVerify(token, key, options).catch((error: Error) => {
      const why = error instanceof errors.JOSEError ? `${error.code}: ${error.message}` : error.message
      throw new RequestProblem('unauthorized', 'The access token is not valid, or not any more.', 'Get a new one.', why)
    })
    // Only who holds the secret gets here, so it helps to say what the token lacks.
    const claims = ClaimsSchema.safeParse(verified.payload)
    if (!claims.success) {
      const lacks = [...new Set(claims.error.issues.map(({ path }) => `"${String(path[0])}"`))].join(' and ')
      throw new RequestProblem('unauthorized', `The access token has no usable claim ${lacks}.`, CLAIMS_HINT)
    }
    const { account, exp, sub } = claims.data
    if (exp === undefined) throw new RequestProblem('unauthorized', 'The access token does not end.', ENDLESS_HINT)
    return { account, sub, expiresAt: exp * 1000 }
  }
}

function readToken(headers: IncomingHttpHeaders): string | undefined {
  const [scheme, token] = headers.authorization?.split(' ') ?? []
  if (scheme?.toLowerCase() === 'bearer') return token
  const protocols = headers['sec-websocket-protocol']?.split(',') ?? []
  return protocols
    .map((protocol) => protocol.trim())
    .find((protocol) => protocol.startsWith(BEARER_PREFIX))
    ?.slice(BEARER_PREFIX.length)
}
