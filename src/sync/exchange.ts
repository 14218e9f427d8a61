import type { SessionRow } from '../core/device-session.ts'
import type { Epoch, Incarnation } from '../protocol/identity.ts'
import type { Reply } from './http-client.ts'
import type { SyncContext } from './sync-context.ts'

/** Sends one request about a session, and learns from the reply whether the server is there and to be trusted. */
export type Exchange = <T>(sessionId: string, request: () => Promise<Reply<T>>) => Promise<Reply<T>>

/**
 * A server that has less than it acknowledged before it was asked went back without a restore, rule I5: its reply counts
 * as none, and nothing more is exchanged with it in that epoch.
 */
export function createExchange({ database, connection, meta }: ExchangeContext): Exchange {
  return async (sessionId, request) => {
    // The epoch first: where it is the new one, the row is in it too.
    const { epoch } = meta()
    const { row } = await database.read(sessionId)
    const reply = connection.hear(await request())
    if (epoch === undefined || !row || reply.kind !== 'answer' || !isBehind(row, epoch, reply.body)) return reply
    connection.endEpoch(epoch)
    return { kind: 'unreachable', reason: 'the server lacks what it acknowledged' }
  }
}

type ExchangeContext = Pick<SyncContext, 'database' | 'connection' | 'meta'>

/** What answers about a session say of where it stands there. */
interface Standing {
  readonly epoch: Epoch
  readonly incarnation: Incarnation
  readonly head: number
  readonly snapshot?: { readonly cursor: number } | null
  /** `head` is how far this answer goes, and the session stands further on. */
  readonly more?: boolean
}

function isBehind(row: SessionRow, epoch: Epoch, body: unknown): boolean {
  const answer = (body ?? {}) as Partial<Standing>
  if (answer.epoch !== epoch || answer.incarnation !== row.incarnation || answer.more) return false
  if (answer.head !== undefined && answer.head < row.pulled) return true
  return answer.snapshot !== undefined && row.base !== undefined && (answer.snapshot?.cursor ?? -1) < row.base.cursor
}
