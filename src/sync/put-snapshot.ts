import type { Snapshot } from '../contract/session-snapshot.ts'
import { cutOrphans } from '../core/cut-orphans.ts'
import { beginPush, forgetPush, type PushStep, refusePush } from '../core/push-snapshot.ts'
import type { RemoteChanges } from './apply-remote.ts'
import { createExchange } from './exchange.ts'
import type { SyncContext } from './sync-context.ts'

export interface SnapshotPush {
  /** `again`: something moved, look once more. `later`: something else has to come first. */
  readonly push: (sessionId: string) => Promise<'done' | 'again' | 'later' | 'unreachable'>
}

/** Sends a session's snapshot by compare-and-set, rule R3: one write at a time, the same one until it is answered. */
export function createSnapshotPush(context: SyncContext, remote: RemoteChanges): SnapshotPush {
  const { database, documents, client, environment } = context
  const ask = createExchange(context)
  return { push }

  async function push(sessionId: string): Promise<'done' | 'again' | 'later' | 'unreachable'> {
    const { row } = await database.read(sessionId)
    if (!row?.dirty && !row?.sent) return 'done'
    if (!row.sent && row.local) {
      const messages = await findMessages(sessionId, row.local, row.base?.snapshot)
      if (messages !== 'here') return messages === 'cut' ? 'again' : 'later'
    }
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
    const reply = await ask(sessionId, () => client.putSession(sessionId, request, ifMatch))
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

  /** Whether the messages of all decisions are here; those that no tab will bring any more are cut, rule R8. */
  async function findMessages(
    sessionId: string,
    local: Snapshot,
    base: Snapshot | undefined,
  ): Promise<'here' | 'awaited' | 'cut'> {
    const decisions = local.conversation?.decisions ?? []
    if (decisions.length === 0) return 'here'
    const messages = await documents.messages(sessionId)
    const missing = messages && decisions.find(({ messageId }) => !messages.ids.has(messageId))?.messageId
    if (missing === undefined) return 'here'
    // What the server has a decision on was here with it, and was removed since: no tab brings it back.
    const wasHere = base?.conversation?.decisions.some(({ messageId }) => messageId === missing) ?? false
    if (!wasHere && (await context.decidingTabs.isAlive(sessionId, missing))) return 'awaited'
    // The last tab may have brought it after we looked.
    const last = await documents.messages(sessionId)
    // A message that cannot be read is no reason to forget what was decided on it.
    if (!last?.whole) return 'awaited'
    const hasMessage = (id: string) => last.ids.has(id)
    const cut = await database.transact(sessionId, 'strict', (each) => cutOrphans(each, local.cursor, hasMessage))
    return cut ? 'cut' : 'awaited'
  }
}
