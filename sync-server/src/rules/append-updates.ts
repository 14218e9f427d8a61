import type { Common } from '../../../src/protocol/answer-fields.ts'
import type { ETag, Incarnation } from '../../../src/protocol/identity.ts'
import type { Inspection } from '../update-guard.ts'
import { foreignIncarnation, newSession } from './incarnation.ts'
import { commonOf, type Reply, refuse } from './reply.ts'
import { etagOf } from './session-answer.ts'
import type { AppendedUpdate, Decided, RuleContext, SessionState } from './session-state.ts'

export interface AppendAnswer extends Common {
  readonly incarnation: Incarnation
  readonly head: number
}

export interface AppendRequest {
  /** Absent for a stock peer, who knows no incarnations: it writes to the session that lives. */
  readonly incarnation?: Incarnation | undefined
  /** For the session that a stock peer's first update makes. */
  readonly newIncarnation: Incarnation
  readonly updates: readonly Uint8Array[]
  readonly maxSessionBytes: number
}

export interface Appended {
  readonly reply: Reply<AppendAnswer>
  /** What was stored, for whoever relays it. */
  readonly updates: readonly Uint8Array[]
  readonly etag: ETag | null
}

/**
 * `POST /v1/sessions/:id/updates` and a room's update frames: all of them become rows of the log, or none does. The
 * first makes the session, rule I1. What the log has already is acknowledged and not stored again.
 */
export function appendUpdates(
  state: SessionState,
  request: AppendRequest,
  inspect: (updates: readonly Uint8Array[]) => Inspection,
  context: RuleContext,
): Decided<Appended> {
  const { incarnation = state.session?.incarnation ?? request.newIncarnation } = request
  const refused = (reply: Reply<never>): Decided<Appended> => ({ result: { reply, updates: [], etag: null } })
  if (request.incarnation === undefined && !state.session && state.ended.size > 0) {
    return refused(refuse(context, { code: 'deleted', message: 'This session was deleted.' }))
  }
  const foreign = foreignIncarnation(state, incarnation, context)
  if (foreign) return refused(foreign)

  const inspection = inspect(request.updates)
  if (inspection.kind === 'invalid') {
    return refused(refuse(context, { code: 'update-invalid', message: `The update holds ${inspection.reason}.` }))
  }
  if (inspection.kind === 'gap') {
    const hint = 'Send what follows the state vector of this answer.'
    return refused(refuse(context, { code: 'gap', message: 'Something that the update stands on is missing.', hint }))
  }
  const session = state.session ?? newSession(incarnation)
  const bytes = inspection.fresh.reduce((sum, update) => sum + update.length, session.bytes)
  if (bytes > request.maxSessionBytes) {
    const message = `The messages of one session are limited to ${request.maxSessionBytes} bytes.`
    return refused(refuse(context, { code: 'too-large', message }))
  }
  const updates: readonly AppendedUpdate[] = inspection.fresh.map((update, index) => ({
    seq: session.head + index + 1,
    device: context.device,
    at: context.now,
    bytes: update,
  }))
  const next = { ...session, head: session.head + updates.length, bytes }
  const reply: Reply<AppendAnswer> = {
    status: 200,
    body: { ...commonOf(context), incarnation, head: next.head },
  }
  const result: Appended = { reply, updates: inspection.fresh, etag: etagOf(next, context.epoch) }
  // Nothing new to a session that lives is nothing to write; an empty first update still makes the session.
  return updates.length > 0 || !state.session ? { change: { session: next, updates }, result } : { result }
}
