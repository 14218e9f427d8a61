import type { Incarnation } from '../../../src/protocol/identity.ts'
import { type Reply, refuse } from './reply.ts'
import { sessionAnswer } from './session-answer.ts'
import type { ClaimRecord, RuleContext, SessionRecord, SessionState } from './session-state.ts'

/**
 * Refuses what is written under an incarnation that is not the live one, rule I1: an ended one is `deleted`, and beside
 * another live one the answer says where that stands. `undefined`: the incarnation lives, or may begin.
 */
export function foreignIncarnation(
  state: SessionState,
  incarnation: Incarnation,
  context: RuleContext,
): Reply<never> | undefined {
  if (state.ended.has(incarnation)) {
    return refuse(context, {
      code: 'deleted',
      message: 'This session was deleted.',
      hint: 'Export what is unsynced; a new session needs a new id.',
    })
  }
  if (state.session && state.session.incarnation !== incarnation) {
    const answer = sessionAnswer(state, state, incarnation, context)
    return refuse(
      context,
      {
        code: 'other-incarnation',
        message: 'Another session lives under this id.',
        hint: 'Adopt its incarnation if yours was never confirmed; otherwise yours was deleted.',
      },
      answer,
    )
  }
  return undefined
}

/** A session as the first write of an incarnation makes it. */
export function newSession(incarnation: Incarnation): SessionRecord {
  return { incarnation, cursor: 0, writeId: '', initial: null, head: 0, bytes: 0 }
}

/** A token is one for ever, rule K9; what a deleted session asked or called its tool calls binds no later one. */
export function claimsUnder(
  claims: ReadonlyMap<string, ClaimRecord>,
  incarnation: Incarnation,
): readonly ClaimRecord[] {
  return [...claims.values()].filter((claim) => claim.incarnation === incarnation)
}
