import type { Snapshot } from '../contract/session-snapshot.ts'
import { cutConversation, initialState } from '../core/conversation-chain.ts'
import type { Decided, DeviceSession } from '../core/device-session.ts'
import { beginPush, forgetPush, type PushStep, refusePush } from '../core/push-snapshot.ts'
import type { RemoteChanges } from './apply-remote.ts'
import type { SyncContext } from './sync-context.ts'

/** A decision whose message is nowhere this long after it was saved belongs to a tab that died, rule R8. */
const ORPHAN_MS = 5 * 60_000

export interface SnapshotPush {
  /** `again`: something moved, look once more. `later`: something else has to come first. */
  readonly push: (sessionId: string) => Promise<'done' | 'again' | 'later' | 'unreachable'>
}

/** Sends a session's snapshot by compare-and-set, rule R3: one write at a time, the same one until it is answered. */
export function createSnapshotPush(context: SyncContext, remote: RemoteChanges): SnapshotPush {
  const { database, documents, client, connection, environment } = context
  const orphanedSince = new Map<string, number>()
  return { push }

  async function push(sessionId: string): Promise<'done' | 'again' | 'later' | 'unreachable'> {
    const { row } = await database.read(sessionId)
    if (!row?.dirty && !row?.sent) return 'done'
    if (!row.sent && !(await messagesAreHere(sessionId, row.local))) return 'later'
    const epoch = context.meta().epoch
    if (epoch === undefined) return 'unreachable'
    const holdBack = await remote.holdsBack(sessionId)
    const newWriteId = environment.newId()
    // The messages that this snapshot names are on disk (seen above): all updates of this moment are to be acknowledged.
    const unacked = await database.updates(sessionId, { afterSeq: row.acked, origin: 'local' })
    const step = await database.transact<PushStep | { kind: 'moved' }>(sessionId, 'strict', (session) =>
      session.row?.local?.cursor === row.local?.cursor
        ? beginPush(session, { epoch, newWriteId, unackedUpdates: unacked.length > 0, holdBack })
        : { result: { kind: 'moved' } },
    )
    if (step.kind === 'moved') return 'again'
    if (step.kind === 'nothing') return 'done'
    if (step.kind === 'wait') return 'later'
    return put(sessionId, step)
  }

  async function put(
    sessionId: string,
    { request, ifMatch }: Extract<PushStep, { kind: 'put' }>,
  ): Promise<'again' | 'unreachable'> {
    const reply = connection.hear(await client.putSession(sessionId, request, ifMatch))
    const { writeId } = request
    if (reply.kind === 'unreachable') return 'unreachable'
    if (reply.kind === 'answer') {
      if (!(await remote.receive(sessionId, reply.body))) return 'unreachable'
      // Not accepted: the write is over, and what stands there instead came in beside it.
      await database.transact(sessionId, 'strict', (session) => forgetPush(session, writeId))
      return 'again'
    }
    if (reply.status === 410) {
      await remote.deleted(sessionId)
      return 'again'
    }
    if (reply.problem.code === 'other-incarnation' && reply.current) {
      await database.transact(sessionId, 'strict', (session) => forgetPush(session, writeId))
      return (await remote.receive(sessionId, reply.current)) ? 'again' : 'unreachable'
    }
    if (reply.problem.code === 'cursor-behind') {
      await database.transact(sessionId, 'strict', (session) => forgetPush(session, writeId))
      return 'unreachable'
    }
    if (reply.problem.retryable || reply.status === 401) return 'unreachable'
    await database.transact(sessionId, 'strict', (session) => refusePush(session, writeId, reply.problem))
    return 'again'
  }

  async function messagesAreHere(sessionId: string, local: Snapshot | undefined): Promise<boolean> {
    const conversation = local?.conversation
    if (!conversation || conversation.decisions.length === 0) return true
    const messages = await documents.messageIds(sessionId)
    if (!messages) return true
    if (conversation.decisions.every(({ messageId }) => messages.has(messageId))) {
      orphanedSince.delete(sessionId)
      return true
    }
    const since = orphanedSince.get(sessionId) ?? environment.now()
    orphanedSince.set(sessionId, since)
    if (environment.now() - since < ORPHAN_MS) return false
    orphanedSince.delete(sessionId)
    await database.transact(sessionId, 'strict', (session) => cutOrphans(session, (id) => messages.has(id)))
    return false
  }
}

function cutOrphans({ row }: DeviceSession, hasMessage: (id: string) => boolean): Decided<void> {
  const conversation = row?.local?.conversation
  if (!row?.local || !conversation) return { result: undefined }
  const result = cutConversation(conversation, row.initial ?? initialState(conversation), hasMessage)
  if (result.cut.length === 0) return { result: undefined }
  const local = { ...row.local, cursor: row.local.cursor + 1, conversation: result.conversation }
  const diverged = [...(row.diverged ?? []), ...result.cut]
  return { change: { row: { ...row, local, diverged, dirty: true } }, result: undefined }
}
