import * as z from 'zod/mini'
import type { Timers } from '../core/environment.ts'
import { DEVICE_HEADER } from '../protocol/answer-fields.ts'
import { type DeleteAnswer, DeleteAnswerSchema } from '../protocol/delete-session.ts'
import { type FeedAnswer, FeedAnswerSchema } from '../protocol/feed.ts'
import type { ETag, Incarnation } from '../protocol/identity.ts'
import { MAX_UPDATE_BYTES } from '../protocol/limits.ts'
import { paths } from '../protocol/paths.ts'
import { type Problem, ProblemSchema } from '../protocol/problem.ts'
import { type ClaimAnswer, ClaimAnswerSchema, type PutClaim } from '../protocol/put-claim.ts'
import type { PutSession } from '../protocol/put-session.ts'
import { type PutTurn, type TurnAnswer, TurnAnswerSchema } from '../protocol/put-turn.ts'
import { LABEL_HEADER } from '../protocol/registration.ts'
import { type SessionAnswer, SessionAnswerSchema } from '../protocol/session-answer.ts'
import {
  type GetUpdatesAnswer,
  GetUpdatesAnswerSchema,
  type PostUpdates,
  type PostUpdatesAnswer,
  PostUpdatesAnswerSchema,
} from '../protocol/updates.ts'
import { type AccessToken, readAccessToken } from './access-token.ts'

export type Reply<T> =
  | { readonly kind: 'answer'; readonly status: number; readonly body: T }
  /** The server said no; `current` is where the session stands, where the refusal carries it. */
  | {
      readonly kind: 'problem'
      readonly status: number
      readonly problem: Problem
      readonly current?: SessionAnswer
      readonly stateVector?: string
    }
  /** No answer, or one that no Rejoin server gave: nobody knows what happened to the request. */
  | { readonly kind: 'unreachable'; readonly reason: string; readonly cancelled?: boolean }

export interface HttpClient {
  readonly feed: (since: number, signal?: AbortSignal) => Promise<Reply<FeedAnswer>>
  readonly getSession: (sessionId: string, signal?: AbortSignal) => Promise<Reply<SessionAnswer>>
  readonly putSession: (sessionId: string, body: PutSession, ifMatch: ETag | null) => Promise<Reply<SessionAnswer>>
  readonly deleteSession: (sessionId: string, incarnation: Incarnation) => Promise<Reply<DeleteAnswer>>
  readonly putClaim: (
    sessionId: string,
    token: string,
    body: PutClaim,
    options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal | undefined },
  ) => Promise<Reply<ClaimAnswer>>
  readonly putTurn: (
    sessionId: string,
    body: PutTurn,
    options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal | undefined },
  ) => Promise<Reply<TurnAnswer>>
  readonly postUpdates: (sessionId: string, body: PostUpdates) => Promise<Reply<PostUpdatesAnswer>>
  readonly getUpdates: (
    sessionId: string,
    since: number,
    incarnation: Incarnation,
    signal?: AbortSignal,
  ) => Promise<Reply<GetUpdatesAnswer>>
}

export interface HttpClientOptions {
  readonly fetch: typeof fetch
  readonly timers: Timers
  /** Without a trailing slash. */
  readonly serverUrl: string
  readonly token: AccessToken
  readonly device: string
  readonly label: string
  readonly signal: AbortSignal
}

const TIMEOUT_MS = 15_000
/** Far above what a server of ours answers; what is larger is not read to its end. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
/** Beside success: a claim that was not won, and a session that stands elsewhere. */
const ANSWERING_REFUSALS: ReadonlySet<number> = new Set([409, 412])
/** With a `gap`: what the server has of the session's messages, base64. */
const StateVectorSchema = z.object({ stateVector: z.string().check(z.maxLength(MAX_UPDATE_BYTES)) })

interface Call<T> {
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly schema: z.ZodMiniType<T>
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

/** The only place that fetches. Every request is bounded, every answer is read as untrusted input. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  return {
    feed: (since, signal) => call({ path: paths.feed(since), schema: FeedAnswerSchema, signal }),
    getSession: (sessionId, signal) => call({ path: paths.session(sessionId), schema: SessionAnswerSchema, signal }),
    putSession: (sessionId, body, ifMatch) =>
      call({
        method: 'PUT',
        path: paths.session(sessionId),
        headers: ifMatch === null ? { 'if-none-match': '*' } : { 'if-match': ifMatch },
        body,
        schema: SessionAnswerSchema,
      }),
    deleteSession: (sessionId, incarnation) =>
      call({ method: 'DELETE', path: paths.deleteSession(sessionId, incarnation), schema: DeleteAnswerSchema }),
    putClaim: (sessionId, token, body, { timeoutMs, signal } = {}) =>
      call({ method: 'PUT', path: paths.claim(sessionId, token), body, schema: ClaimAnswerSchema, timeoutMs, signal }),
    putTurn: (sessionId, body, { timeoutMs, signal } = {}) =>
      call({ method: 'PUT', path: paths.turn(sessionId), body, schema: TurnAnswerSchema, timeoutMs, signal }),
    postUpdates: (sessionId, body) =>
      call({ method: 'POST', path: paths.updates(sessionId), body, schema: PostUpdatesAnswerSchema }),
    getUpdates: (sessionId, since, incarnation, signal) =>
      call({ path: paths.updatesSince(sessionId, since, incarnation), schema: GetUpdatesAnswerSchema, signal }),
  }

  async function call<T>({
    method = 'GET',
    path,
    body,
    headers,
    schema,
    signal,
    timeoutMs,
  }: Call<T>): Promise<Reply<T>> {
    const bound = new AbortController()
    const timer = options.timers.setTimeout(() => bound.abort(new Error('timed out')), timeoutMs ?? TIMEOUT_MS)
    const end = AbortSignal.any([bound.signal, options.signal, ...(signal ? [signal] : [])])
    try {
      const token = await within(end, readAccessToken(options.token))
      const response = await options.fetch(options.serverUrl + path, {
        method,
        headers: {
          [DEVICE_HEADER]: options.device,
          [LABEL_HEADER]: encodeURIComponent(options.label),
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: end,
        credentials: 'omit',
        cache: 'no-store',
      })
      return readReply(response.status, await readJson(response), schema)
    } catch (error) {
      // Whoever cancels learns nothing about the server.
      const cancelled = options.signal.aborted || signal?.aborted === true
      if (cancelled) return { kind: 'unreachable', reason: 'cancelled', cancelled }
      return { kind: 'unreachable', reason: error instanceof Error ? error.message : 'no answer' }
    } finally {
      options.timers.clearTimeout(timer)
    }
  }
}

function readReply<T>(status: number, json: unknown, schema: z.ZodMiniType<T>): Reply<T> {
  const problem = ProblemSchema.safeParse(json)
  if (status >= 400 && problem.success) {
    const current = SessionAnswerSchema.safeParse(json)
    const stateVector = StateVectorSchema.safeParse(json)
    return {
      kind: 'problem',
      status,
      problem: problem.data,
      ...(current.success && { current: current.data }),
      ...(stateVector.success && { stateVector: stateVector.data.stateVector }),
    }
  }
  const body = schema.safeParse(json)
  const answers = (status >= 200 && status < 300) || ANSWERING_REFUSALS.has(status)
  if (body.success && answers) return { kind: 'answer', status, body: body.data }
  // A captive portal or a proxy's error page: whatever it says, the server did not say it.
  return { kind: 'unreachable', reason: `an unexpected answer (status ${status})` }
}

async function readJson(response: Response): Promise<unknown> {
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true }
    if (done || !value) return JSON.parse(text + decoder.decode())
    bytes += value.length
    if (bytes > MAX_ANSWER_BYTES) {
      await reader?.cancel()
      throw new Error('the answer is too large')
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** A host's function that never settles must not hold a request for ever, nor after it was cancelled. */
function within<T>(end: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (end.aborted) reject(end.reason)
    end.addEventListener('abort', () => reject(end.reason), { once: true })
    work.then(resolve, reject)
  })
}
