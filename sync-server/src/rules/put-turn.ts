import type { PutTurn, TurnAnswer } from '../../../src/protocol/put-turn.ts'
import type { SessionAnswer } from '../../../src/protocol/session-answer.ts'
import { foreignIncarnation } from './incarnation.ts'
import { type Reply, refuse } from './reply.ts'
import { etagOf, liveLease, sessionAnswer } from './session-answer.ts'
import {
  applyChange,
  type Decided,
  type RuleContext,
  type SessionChange,
  type SessionState,
  type TurnRecord,
} from './session-state.ts'
import { storeSnapshot } from './store-snapshot.ts'

/**
 * `PUT /v1/sessions/:id/turn`, rule T1: granted when no other lease is live by the server's clock and the turn has not
 * ended. It needs no session on the server: a chat may ask before its first message arrives. 200 either way, `granted`
 * says which; 412 when the snapshot that came along stands elsewhere.
 */
export function putTurn(
  state: SessionState,
  request: PutTurn,
  context: RuleContext,
): Decided<Reply<TurnAnswer | SessionAnswer>> {
  const foreign = foreignIncarnation(state, request.incarnation, context)
  if (foreign) return { result: foreign }
  const standing = () => sessionAnswer(state, state, request.incarnation, context)
  const turn = request.op === 'release' ? released(state, request, context) : taken(state, request, context)
  if (!turn) return { result: { status: 200, body: { ...standing(), granted: false } } }

  let change: SessionChange = { turn }
  const { snapshot, ifMatch, writeId, incarnation } = request
  if (snapshot && ifMatch && writeId && state.lastWriteId !== writeId) {
    if (ifMatch !== etagOf(state.session, context.epoch)) return { result: { status: 412, body: standing() } }
    const stored = storeSnapshot(state, { incarnation, snapshot, writeId }, context)
    if (!stored.ok) return { result: refuse(context, stored.objection, standing()) }
    change = { ...stored.change, turn }
  }
  const answer = sessionAnswer(state, applyChange(state, change), incarnation, context)
  return { change, result: { status: 200, body: { ...answer, granted: true } } }
}

type Taking = Extract<PutTurn, { readonly op: 'take' | 'renew' }>
type Releasing = Extract<PutTurn, { readonly op: 'release' }>

/** The lease as it is when the device may have it. A retry of its own request finds it there and gets it again. */
function taken(state: SessionState, request: Taking, { device, now }: RuleContext): TurnRecord | undefined {
  const { turnId, leaseMs, op } = request
  if (state.turn?.outcome) return undefined
  const live = liveLease(state.lease, now)
  if (live && (live.turnId !== turnId || live.device !== device)) return undefined
  if (op === 'renew' && state.turn?.device !== device) return undefined
  return { turnId, device, expiresAt: now + leaseMs }
}

/** The first outcome stays. Another device's live turn is not ended by us. */
function released(state: SessionState, request: Releasing, { device, now }: RuleContext): TurnRecord | undefined {
  const { turnId, outcome } = request
  const live = liveLease(state.lease, now)
  if (live?.turnId === turnId && live.device !== device) return undefined
  const expiresAt = Math.min(state.turn?.expiresAt ?? now, now)
  return state.turn?.outcome ? state.turn : { turnId, device, expiresAt, outcome }
}
