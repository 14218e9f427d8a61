import type { ETag } from '../../../../src/protocol/identity.ts'
import type { ClaimAnswer, PutClaim } from '../../../../src/protocol/put-claim.ts'
import type { PutSession } from '../../../../src/protocol/put-session.ts'
import type { PutTurn, TurnAnswer } from '../../../../src/protocol/put-turn.ts'
import type { SessionAnswer } from '../../../../src/protocol/session-answer.ts'
import { foreignIncarnation, newSession } from '../../../../sync-server/src/rules/incarnation.ts'
import { putClaim } from '../../../../sync-server/src/rules/put-claim.ts'
import { putSession } from '../../../../sync-server/src/rules/put-session.ts'
import { putTurn } from '../../../../sync-server/src/rules/put-turn.ts'
import { isRefusal, type Refusal, type Reply } from '../../../../sync-server/src/rules/reply.ts'
import { sessionAnswer } from '../../../../sync-server/src/rules/session-answer.ts'
import {
  applyChange,
  type Decided,
  type RuleContext,
  type SessionState,
  type TurnRecord,
} from '../../../../sync-server/src/rules/session-state.ts'

/** The server's real rules over one session that is kept in memory. Messages are ids in a log. */
export interface RuleServer {
  readonly state: () => SessionState
  readonly log: readonly string[]
  readonly get: (device: string) => SessionAnswer | undefined
  readonly put: (device: string, request: PutSession, ifMatch: ETag | null) => Answered<SessionAnswer>
  readonly claim: (device: string, token: string, request: PutClaim) => Answered<ClaimAnswer>
  readonly turn: (device: string, request: PutTurn) => Answered<TurnAnswer>
  /** The log's position after the messages, or the refusal. */
  readonly post: (device: string, incarnation: string, messages: readonly string[]) => Answered<{ head: number }>
}

export type Answered<T> =
  | { readonly kind: 'answer'; readonly body: T }
  /** `current`: where the session stands, when the refusal says so. */
  | { readonly kind: 'refused'; readonly problem: Refusal; readonly current?: SessionAnswer }

export const EPOCH = '1000-a'

export function createRuleServer(sessionId: string, now: () => number): RuleServer {
  let state: SessionState = {
    session: null,
    snapshot: null,
    claims: new Map(),
    lastWriteId: null,
    lease: null,
    turn: null,
    ended: new Set(),
  }
  const writes = new Map<string, string>()
  const turns = new Map<string, TurnRecord>()
  const log: string[] = []

  return {
    state: () => state,
    log,
    get(device) {
      const asked = stateFor(device)
      return asked.session ? sessionAnswer(asked, asked, asked.session.incarnation, contextOf(device)) : undefined
    },
    put: (device, request, ifMatch) => run(device, (asked, context) => putSession(asked, request, ifMatch, context)),
    claim: (device, token, request) =>
      run<ClaimAnswer>(
        device,
        (asked, context) => putClaim(asked, token, request, context) as Decided<Reply<ClaimAnswer>>,
      ),
    turn: (device, request) =>
      run<TurnAnswer>(
        device,
        (asked, context) => putTurn(asked, request, context) as Decided<Reply<TurnAnswer>>,
        request.turnId,
      ),
    post(device, incarnation, messages) {
      const foreign = foreignIncarnation(stateFor(device), incarnation, contextOf(device))
      if (foreign) return answered(foreign)
      log.push(...messages)
      state = { ...state, session: { ...(state.session ?? newSession(incarnation)), head: log.length } }
      return { kind: 'answer', body: { head: log.length } }
    },
  }

  function run<T extends object>(
    device: string,
    decide: (asked: SessionState, context: RuleContext) => Decided<Reply<T>>,
    turnId?: string,
  ): Answered<T> {
    const asked = stateFor(device, turnId)
    const { change, result } = decide(asked, contextOf(device))
    if (change) state = applyChange(asked, change)
    if (change?.write) writes.set(device, change.write.writeId)
    if (change?.turn) turns.set(change.turn.turnId, change.turn)
    return answered(result)
  }

  function stateFor(device: string, turnId?: string): SessionState {
    const turn = turnId === undefined ? null : (turns.get(turnId) ?? null)
    return { ...state, lastWriteId: writes.get(device) ?? null, turn }
  }

  function contextOf(device: string): RuleContext {
    return { server: 'rejoin', epoch: EPOCH, now: now(), account: 'a', sub: 'p', device, label: device, sessionId }
  }
}

function answered<T extends object>({ body }: Reply<T>): Answered<T> {
  if (!isRefusal(body)) return { kind: 'answer', body }
  const current = 'etag' in body && 'snapshot' in body ? (body as unknown as SessionAnswer) : undefined
  return { kind: 'refused', problem: body, ...(current && { current }) }
}
