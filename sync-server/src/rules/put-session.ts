import type { ETag } from '../../../src/protocol/identity.ts'
import type { PutSession } from '../../../src/protocol/put-session.ts'
import type { SessionAnswer } from '../../../src/protocol/session-answer.ts'
import { foreignIncarnation } from './incarnation.ts'
import { type Reply, refuse } from './reply.ts'
import { etagOf, sessionAnswer } from './session-answer.ts'
import { applyChange, type Decided, type RuleContext, type SessionState } from './session-state.ts'
import { storeSnapshot } from './store-snapshot.ts'

/**
 * `PUT /v1/sessions/:id`, the compare-and-set of a snapshot: R3, R4, R6, R7, R9, I1. `ifMatch` is `null` for
 * `If-None-Match: *`. 201 created · 200 stored, or the device's own last write again · 412 it stands elsewhere.
 */
export function putSession(
  state: SessionState,
  request: PutSession,
  ifMatch: ETag | null,
  context: RuleContext,
): Decided<Reply<SessionAnswer>> {
  const foreign = foreignIncarnation(state, request.incarnation, context)
  if (foreign) return { result: foreign }
  const standing = () => sessionAnswer(state, state, request.incarnation, context)
  if (state.lastWriteId === request.writeId) return { result: { status: 200, body: standing() } }
  if (ifMatch !== etagOf(state.session, context.epoch)) return { result: { status: 412, body: standing() } }

  const stored = storeSnapshot(state, request, context)
  if (!stored.ok) {
    return { result: refuse(context, stored.objection, state.session ? standing() : undefined) }
  }
  const next = applyChange(state, stored.change)
  const body = sessionAnswer(state, next, request.incarnation, context)
  return { change: stored.change, result: { status: state.snapshot ? 200 : 201, body } }
}
