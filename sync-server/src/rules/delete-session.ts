import type { DeleteAnswer } from '../../../src/protocol/delete-session.ts'
import type { Incarnation } from '../../../src/protocol/identity.ts'
import { foreignIncarnation } from './incarnation.ts'
import { commonOf, type Reply } from './reply.ts'
import type { Decided, RuleContext, SessionState } from './session-state.ts'

/**
 * `DELETE /v1/sessions/:id?incarnation=`, rules I1 and I3. Also an incarnation that the server never heard of is ended:
 * a write of it may still be on its way, or on a device that a restore left ahead of the server.
 */
export function deleteSession(
  state: SessionState,
  incarnation: Incarnation,
  context: RuleContext,
): Decided<Reply<DeleteAnswer>> {
  const done: Reply<DeleteAnswer> = { status: 200, body: { ...commonOf(context), incarnation } }
  if (state.ended.has(incarnation)) return { result: done }
  const foreign = foreignIncarnation(state, incarnation, context)
  if (foreign) return { result: foreign }
  return { change: { end: { incarnation, sub: context.sub, at: context.now } }, result: done }
}
