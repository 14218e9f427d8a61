import type { ETag } from '../../../src/protocol/identity.ts'
import type { ClaimAnswer, PutClaim } from '../../../src/protocol/put-claim.ts'
import type { PutSession } from '../../../src/protocol/put-session.ts'
import type { PutTurn, TurnAnswer } from '../../../src/protocol/put-turn.ts'
import type { SessionAnswer } from '../../../src/protocol/session-answer.ts'
import { deleteSession } from '../../../sync-server/src/rules/delete-session.ts'
import { putClaim } from '../../../sync-server/src/rules/put-claim.ts'
import { putSession } from '../../../sync-server/src/rules/put-session.ts'
import { putTurn } from '../../../sync-server/src/rules/put-turn.ts'
import type { Refusal, Reply } from '../../../sync-server/src/rules/reply.ts'
import {
  applyChange,
  type Decided,
  type RuleContext,
  type SessionState,
  type TurnRecord,
} from '../../../sync-server/src/rules/session-state.ts'

export const T0 = Date.UTC(2026, 2, 1, 10)

/** Status and body in one, so that a test reads as one line. */
type Answer<T> = { readonly status: number } & T & Refusal

export interface PureServer {
  /** The clock and the epoch are the test's. */
  now: number
  epoch: string
  readonly state: () => SessionState
  readonly etag: () => ETag | null
  readonly statusOf: (token: string) => string | undefined
  readonly put: (device: string, request: PutSession, ifMatch: ETag | null) => Answer<SessionAnswer>
  /** A PUT on what is stored now. */
  readonly putNext: (device: string, request: PutSession) => Answer<SessionAnswer>
  /** The token is the confirmation's, or `t1`. */
  readonly claim: (device: string, request: PutClaim) => Answer<ClaimAnswer>
  readonly claimOf: (device: string, token: string, request: PutClaim) => Answer<ClaimAnswer>
  readonly turn: (device: string, request: PutTurn) => Answer<TurnAnswer>
  readonly delete: (device: string, incarnation: string) => Answer<object>
}

/** The rules of one session over plain state: a server without a store, a socket or a clock of its own. */
export function createPureServer(): PureServer {
  const lastWrites = new Map<string, string>()
  const turns = new Map<string, TurnRecord>()
  let state: SessionState = {
    session: null,
    snapshot: null,
    claims: new Map(),
    lastWriteId: null,
    lease: null,
    turn: null,
    ended: new Set(),
  }

  function decide<T extends object>(
    device: string,
    rule: (state: SessionState, context: RuleContext) => Decided<Reply<object>>,
  ): Answer<T> {
    const seen = { ...state, lastWriteId: lastWrites.get(device) ?? null }
    const { change, result } = rule(seen, {
      server: 'rejoin',
      epoch: server.epoch,
      now: server.now,
      account: 'acme',
      sub: `person of ${device}`,
      device,
      label: `label of ${device}`,
      sessionId: 's1',
    })
    if (change) state = applyChange(seen, change)
    if (change?.write) lastWrites.set(device, change.write.writeId)
    if (change?.end) lastWrites.clear()
    return { status: result.status, ...result.body } as Answer<T>
  }

  function etag(): ETag | null {
    const { session } = state
    return session?.writeId ? `"${server.epoch}.${session.incarnation}.${session.cursor}.${session.writeId}"` : null
  }

  const server: PureServer = {
    now: T0,
    epoch: '1000-first',
    state: () => state,
    etag,
    statusOf: (token) => state.snapshot?.confirmations.find((each) => each.token === token)?.status,
    put: (device, request, ifMatch) => decide(device, (seen, context) => putSession(seen, request, ifMatch, context)),
    putNext: (device, request) => server.put(device, request, etag()),
    claim: (device, request) => {
      const token = request.op === 'claim' ? request.confirmation.token : 't1'
      return server.claimOf(device, token, request)
    },
    claimOf: (device, token, request) => decide(device, (seen, context) => putClaim(seen, token, request, context)),
    turn: (device, request) =>
      decide(device, (seen, context) => {
        const decided = putTurn({ ...seen, turn: turns.get(request.turnId) ?? null }, request, context)
        if (decided.change?.turn) turns.set(request.turnId, decided.change.turn)
        return decided
      }),
    delete: (device, incarnation) => decide(device, (seen, context) => deleteSession(seen, incarnation, context)),
  }

  return server
}
