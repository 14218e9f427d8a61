import type { IncomingHttpHeaders } from 'node:http'
import type * as z from 'zod/mini'
import { decodeSnapshot } from '../../src/contract/decode-snapshot.ts'
import { isSafeId } from '../../src/contract/safe-id.ts'
import { DEVICE_HEADER } from '../../src/protocol/answer-fields.ts'
import type { ETag, Incarnation } from '../../src/protocol/identity.ts'
import { type PutClaim, PutClaimSchema, type WithSnapshot } from '../../src/protocol/put-claim.ts'
import { type PutSession, PutSessionSchema } from '../../src/protocol/put-session.ts'
import { type PutTurn, PutTurnSchema } from '../../src/protocol/put-turn.ts'
import { LABEL_HEADER } from '../../src/protocol/registration.ts'
import { type PostUpdates, PostUpdatesSchema } from '../../src/protocol/updates.ts'
import type { Identity } from './authenticate.ts'
import type { Caller } from './caller.ts'
import { RequestProblem } from './request-problem.ts'

// Everything that comes in is read here, once, and is typed afterwards. Each function throws a RequestProblem.

const MAX_LABEL_LENGTH = 128

export function readCaller({ account, sub }: Identity, headers: IncomingHttpHeaders): Caller {
  const device = headers[DEVICE_HEADER]
  if (!isSafeId(device)) throw new RequestProblem('bad-request', `The header ${DEVICE_HEADER} must name the device.`)
  const encoded = headers[LABEL_HEADER]
  if (encoded === undefined) return { account, sub, device }
  const label = typeof encoded === 'string' ? decodeLabel(encoded) : undefined
  if (label === undefined || label.length > MAX_LABEL_LENGTH) {
    throw new RequestProblem('bad-request', `The header ${LABEL_HEADER} is not a URI-encoded label.`)
  }
  return { account, sub, device, label }
}

function decodeLabel(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}

export function readId(value: unknown, what: string): string {
  if (!isSafeId(value)) throw new RequestProblem('bad-request', `The ${what} is not an id.`)
  return value
}

/** `null`: create. Exactly one of the two conditions must be there: nothing is overwritten unseen. */
export function readCondition(headers: IncomingHttpHeaders): ETag | null {
  const ifMatch = headers['if-match']
  const ifNoneMatch = headers['if-none-match']
  if (ifMatch !== undefined && ifNoneMatch === undefined) return ifMatch
  if (ifMatch === undefined && ifNoneMatch === '*') return null
  throw new RequestProblem('bad-request', 'A PUT says either If-None-Match: * or If-Match: <etag>.')
}

export function readQuery(query: unknown, name: 'since'): number
export function readQuery(query: unknown, name: 'incarnation'): Incarnation
export function readQuery(query: unknown, name: 'since' | 'incarnation'): number | string {
  const value = (query as Record<string, unknown>)[name]
  if (name === 'incarnation') return readId(value, 'incarnation')
  const since = value === undefined ? 0 : Number(value)
  if (Number.isSafeInteger(since) && since >= 0) return since
  throw new RequestProblem('bad-request', 'since is a position: a whole number from 0.')
}

export function readPutSession(body: unknown, sessionId: string): PutSession {
  const request = parse(PutSessionSchema, body)
  if (request.snapshot.sessionId !== sessionId) {
    throw new RequestProblem('snapshot-invalid', 'The snapshot belongs to another session.')
  }
  return request
}

export function readPutClaim(body: unknown, token: string): PutClaim {
  const request = parse(PutClaimSchema, body)
  if ('confirmation' in request && request.confirmation.token !== token) {
    throw new RequestProblem('bad-request', 'The confirmation has another token than the URL.')
  }
  checkAllOrNone(request)
  return request
}

export function readPutTurn(body: unknown): PutTurn {
  const request = parse(PutTurnSchema, body)
  checkAllOrNone(request)
  return request
}

export function readPostUpdates(body: unknown): PostUpdates {
  return parse(PostUpdatesSchema, body)
}

function checkAllOrNone(request: PutClaim | PutTurn): void {
  const { ifMatch, snapshot, writeId } = request as WithSnapshot
  const there = [ifMatch, snapshot, writeId].filter((part) => part !== undefined)
  if (there.length === 0 || there.length === 3) return
  throw new RequestProblem('bad-request', 'ifMatch, snapshot and writeId come together or not at all.')
}

function parse<T>(schema: z.ZodMiniType<T>, body: unknown): T {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const snapshot = typeof body === 'object' && body !== null && 'snapshot' in body ? body.snapshot : undefined
  const decoded = snapshot === undefined ? undefined : decodeSnapshot(snapshot)
  if (decoded && !decoded.ok) {
    const { code, message } = decoded.diagnostic
    throw new RequestProblem(
      code === 'SESSION_UNSUPPORTED_VERSION' ? 'unsupported-version' : 'snapshot-invalid',
      message,
    )
  }
  const paths = [...new Set(parsed.error.issues.map((issue) => issue.path.join('.') || 'the body'))].slice(0, 5)
  throw new RequestProblem('bad-request', `The request is not valid: ${paths.join(', ')}.`)
}
