import { base64ToBytes, bytesToBase64 } from '../../src/protocol/base64.ts'
import type { DeleteAnswer } from '../../src/protocol/delete-session.ts'
import type { FeedAnswer } from '../../src/protocol/feed.ts'
import type { ETag, Incarnation } from '../../src/protocol/identity.ts'
import { FEED_PAGE_ITEMS, UPDATES_PAGE_BYTES } from '../../src/protocol/limits.ts'
import type { ClaimAnswer, PutClaim } from '../../src/protocol/put-claim.ts'
import type { PutSession } from '../../src/protocol/put-session.ts'
import type { PutTurn, TurnAnswer } from '../../src/protocol/put-turn.ts'
import type { SessionAnswer } from '../../src/protocol/session-answer.ts'
import type { GetUpdatesAnswer, PostUpdates } from '../../src/protocol/updates.ts'
import { type Caller, contextOf, type ServerIdentity } from './caller.ts'
import type { AppendAnswer } from './rules/append-updates.ts'
import { deleteSession } from './rules/delete-session.ts'
import { foreignIncarnation } from './rules/incarnation.ts'
import { putClaim } from './rules/put-claim.ts'
import { putSession } from './rules/put-session.ts'
import { putTurn } from './rules/put-turn.ts'
import { commonOf, type Reply, refuse } from './rules/reply.ts'
import { etagOf, sessionAnswer } from './rules/session-answer.ts'
import type { Decided, RuleContext, SessionChange, SessionState } from './rules/session-state.ts'
import type { SessionChanges, SessionMoved } from './session-changes.ts'
import type { UpdateLog } from './update-log.ts'

/** Every resource as a plain function: who asks for what, and the answer before HTTP. Inputs are validated already. */
export interface Handler {
  readonly feed: (caller: Caller, since: number) => Promise<Reply<FeedAnswer>>
  readonly getSession: (caller: Caller, sessionId: string) => Promise<Reply<SessionAnswer>>
  readonly putSession: (
    caller: Caller,
    sessionId: string,
    ifMatch: ETag | null,
    request: PutSession,
  ) => Promise<Reply<SessionAnswer>>
  readonly deleteSession: (caller: Caller, sessionId: string, incarnation: Incarnation) => Promise<Reply<DeleteAnswer>>
  readonly putClaim: (
    caller: Caller,
    sessionId: string,
    token: string,
    request: PutClaim,
  ) => Promise<Reply<ClaimAnswer | SessionAnswer>>
  readonly putTurn: (caller: Caller, sessionId: string, request: PutTurn) => Promise<Reply<TurnAnswer | SessionAnswer>>
  readonly getUpdates: (
    caller: Caller,
    sessionId: string,
    since: number,
    incarnation: Incarnation,
  ) => Promise<Reply<GetUpdatesAnswer>>
  readonly postUpdates: (caller: Caller, sessionId: string, request: PostUpdates) => Promise<Reply<AppendAnswer>>
}

export interface HandlerOptions {
  readonly server: ServerIdentity
  readonly changes: SessionChanges
  readonly log: UpdateLog
}

export function createHandler({ server, changes, log }: HandlerOptions): Handler {
  const { store } = server

  /** One transaction over one session; what it changed is told after the commit and before the answer. */
  async function decide<Body extends object>(
    caller: Caller,
    sessionId: string,
    rule: (state: SessionState, context: RuleContext) => Decided<Reply<Body>>,
    turnId?: string,
  ): Promise<Reply<Body>> {
    const { account, device } = caller
    const scope = { account, sessionId, device, ...(turnId !== undefined && { turnId }) }
    const { reply, moved } = await store.decide(scope, (state) => {
      const context = contextOf(server, caller, sessionId)
      const { change, result } = rule(state, context)
      return {
        ...(change && { change }),
        result: { reply: result, moved: change && movedBy(state, change, context) },
      }
    })
    if (moved) changes.publish(moved)
    return reply
  }

  async function getUpdates(
    caller: Caller,
    sessionId: string,
    since: number,
    incarnation: Incarnation,
  ): Promise<Reply<GetUpdatesAnswer>> {
    const page = await store.updates({ account: caller.account, sessionId }, since, UPDATES_PAGE_BYTES)
    if (page?.incarnation !== incarnation) {
      return decide(caller, sessionId, (state, context) => ({
        result: foreignIncarnation(state, incarnation, context) ?? notFound(context),
      }))
    }
    const { head, entries, more } = page
    const updates = entries.map((entry) => bytesToBase64(entry.bytes))
    const body: GetUpdatesAnswer = {
      ...commonOf(contextOf(server, caller, sessionId)),
      incarnation,
      from: since,
      head: more ? (entries.at(-1)?.seq ?? head) : head,
      updates,
      more,
    }
    return { status: 200, body }
  }

  async function feed(caller: Caller, since: number): Promise<Reply<FeedAnswer>> {
    const page = await store.feed(caller.account, since, FEED_PAGE_ITEMS)
    const items = page.entries.map(({ sessionId, incarnation, seq, cursor, writeId, head, deleted }) => ({
      sessionId,
      incarnation,
      seq,
      etag: etagOf({ incarnation, cursor, writeId }, store.epoch),
      head,
      deleted,
    }))
    return {
      status: 200,
      body: { ...commonOf(contextOf(server, caller, '')), head: page.head, floor: page.floor, more: page.more, items },
    }
  }

  async function postUpdates(caller: Caller, sessionId: string, request: PostUpdates): Promise<Reply<AppendAnswer>> {
    const { incarnation } = request
    const { reply, stateVector } = await log.append(caller, sessionId, {
      incarnation,
      updates: request.updates.map(base64ToBytes),
    })
    if (!stateVector) return reply
    return { ...reply, body: { ...reply.body, stateVector: bytesToBase64(stateVector) } }
  }

  return {
    feed,
    getUpdates,
    postUpdates,
    getSession: (caller, sessionId) =>
      decide(caller, sessionId, (state, context) => ({
        result: state.session
          ? { status: 200, body: sessionAnswer(state, state, state.session.incarnation, context) }
          : notFound(context),
      })),
    putSession: (caller, sessionId, ifMatch, request) =>
      decide(caller, sessionId, (state, context) => putSession(state, request, ifMatch, context)),
    deleteSession: (caller, sessionId, incarnation) =>
      decide(caller, sessionId, (state, context) => deleteSession(state, incarnation, context)),
    putClaim: (caller, sessionId, token, request) =>
      decide(caller, sessionId, (state, context) => putClaim(state, token, request, context)),
    putTurn: (caller, sessionId, request) =>
      decide(caller, sessionId, (state, context) => putTurn(state, request, context), request.turnId),
  }
}

/** The same for an id that nobody uses and for one that another account uses. */
function notFound(context: RuleContext): Reply<never> {
  return refuse(context, { code: 'not-found', message: 'There is no such session.' })
}

function movedBy(state: SessionState, change: SessionChange, context: RuleContext): SessionMoved | undefined {
  const { account, sessionId, epoch } = context
  const session = change.session ?? state.session
  if (!session) return undefined
  const deleted = change.end !== undefined
  if (deleted && change.end?.incarnation !== session.incarnation) return undefined
  const { incarnation, head } = session
  return { account, sessionId, incarnation, head, etag: etagOf(session, epoch), updates: [], deleted }
}
