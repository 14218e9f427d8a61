import type { Decided, DeleteRow, DeviceSession } from '../core/device-session.ts'
import type { RemoteChanges } from './apply-remote.ts'
import type { ClaimDispatch } from './dispatch-claims.ts'
import { createExchange } from './exchange.ts'
import type { UpdatePush } from './push-updates.ts'
import type { SnapshotPush } from './put-snapshot.ts'
import { isLevel, type RemotePositions } from './remote-positions.ts'
import type { SyncContext } from './sync-context.ts'

export interface SessionSyncParts {
  readonly remote: RemoteChanges
  readonly claims: ClaimDispatch
  readonly updates: UpdatePush
  readonly snapshots: SnapshotPush
  readonly positions: RemotePositions
}

/** A session in which something moves each time that it is looked at waits, as for a server that is out of reach. */
const MAX_ROUNDS = 20

/**
 * Brings one session of this device and the server level, in this order: deletes, messages, decisions, what stands there,
 * the turn, the snapshot. False: the server is out of reach, try again later.
 */
export function createSessionSync(
  context: SyncContext,
  parts: SessionSyncParts,
  canSend: () => boolean,
): (sessionId: string) => Promise<boolean> {
  const { database, client, connection } = context
  const { positions } = parts
  const ask = createExchange(context)
  return syncSession

  async function syncSession(sessionId: string): Promise<boolean> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      if (!canSend()) return false
      const { row, deletes } = await database.read(sessionId)
      for (const removal of deletes) {
        const told = await tellDeleted(removal)
        // What lives under the id next waits until the server has heard of the end of this.
        if (told !== 'gone') return told === 'refused'
      }
      if (!row || row.deleted) {
        positions.delete(sessionId)
        return true
      }
      const sent = await parts.updates.push(sessionId)
      if (sent === 'unreachable') return false
      if (!(await parts.claims.dispatch(sessionId))) return false
      if (!(await look(sessionId))) return false
      if (!(await releaseTurn(sessionId))) return false
      if (sent === 'refused') return true
      const pushed = await parts.snapshots.push(sessionId)
      if (pushed === 'unreachable') return false
      if (pushed !== 'again') return true
    }
    return false
  }

  async function tellDeleted(removal: DeleteRow): Promise<'gone' | 'refused' | 'unreachable'> {
    if (removal.problem) return 'refused'
    const { sessionId, incarnation } = removal
    const reply = connection.hear(await client.deleteSession(sessionId, incarnation))
    if (reply.kind === 'unreachable') return 'unreachable'
    if (reply.kind === 'answer') {
      const itsOwn = (await parts.remote.hear(reply.body)) && reply.body.incarnation === incarnation
      if (!itsOwn) return 'unreachable'
    }
    // Only an answer that it is gone ends it; a refused access token, above all, does not.
    const refused = reply.kind === 'problem' && ![404, 409, 410].includes(reply.status)
    if (refused && (reply.problem.retryable || reply.status === 401)) return 'unreachable'
    const change = refused ? { putDelete: { ...removal, problem: reply.problem } } : { removeDelete: incarnation }
    await database.transact(sessionId, 'strict', () => ({ change, result: undefined }))
    return refused ? 'refused' : 'gone'
  }

  /** Gets the session where the server is known to stand somewhere else than this device thinks. */
  async function look(sessionId: string): Promise<boolean> {
    const { row } = await database.read(sessionId)
    if (!row) return true
    const remote = positions.get(sessionId)
    const incoming = row.incoming && !(await parts.remote.holdsBack(sessionId))
    if (!incoming && remote && isLevel(row, remote)) {
      positions.delete(sessionId)
      return true
    }
    if (!remote && !incoming) return true
    const reply = await ask(sessionId, () => client.getSession(sessionId, context.signal))
    if (reply.kind === 'unreachable') return false
    if (reply.kind === 'problem') {
      if (reply.problem.retryable || reply.status === 401) return false
      if (reply.status === 410) await parts.remote.deleted(sessionId)
      positions.delete(sessionId)
      return true
    }
    const applied = await parts.remote.receive(sessionId, reply.body)
    if (applied && positions.get(sessionId) === remote) positions.delete(sessionId)
    return applied !== undefined
  }

  /** A turn that ended here frees its lease, rule T1. */
  async function releaseTurn(sessionId: string): Promise<boolean> {
    const { row } = await database.read(sessionId)
    const ended = row?.local?.terminalTurns?.find((turn) => turn.turnId === row.lease?.turnId)
    if (!row?.lease || !ended || row.lease.device !== context.meta().device) return true
    const { incarnation } = row
    const { turnId, outcome } = ended
    const reply = await ask(sessionId, () => client.putTurn(sessionId, { op: 'release', incarnation, turnId, outcome }))
    if (reply.kind === 'unreachable') return false
    if (reply.kind === 'answer') return (await parts.remote.receive(sessionId, reply.body)) !== undefined
    if (reply.problem.retryable || reply.status === 401) return false
    if (reply.status === 410) await parts.remote.deleted(sessionId)
    else if (reply.current) await parts.remote.receive(sessionId, reply.current)
    // It was never to be had back: it ends by itself.
    else await database.transact(sessionId, 'relaxed', (session) => forgetLease(session, turnId))
    return true
  }
}

function forgetLease({ row }: DeviceSession, turnId: string): Decided<undefined> {
  if (row?.lease?.turnId !== turnId) return { result: undefined }
  return { change: { row: { ...row, lease: undefined } }, result: undefined }
}
