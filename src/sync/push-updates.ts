import { isIncarnation } from '../core/save-snapshot.ts'
import { base64ToBytes, bytesToBase64 } from '../protocol/base64.ts'
import type { Problem } from '../protocol/problem.ts'
import type { RemoteChanges } from './apply-remote.ts'
import type { LiveSockets } from './live-sockets.ts'
import type { SyncContext } from './sync-context.ts'

/** One request carries at most this many bytes of updates, before base64. */
const BATCH_BYTES = 384 * 1024

export interface UpdatePush {
  /** `sent`: the server has durably all local updates. `refused`: it will not take them, and says why in `onError`. */
  readonly push: (sessionId: string) => Promise<'sent' | 'unreachable' | 'refused'>
}

/** Sends local updates: over the session's socket while there is one, else in one POST. */
export function createUpdatePush(context: SyncContext, remote: RemoteChanges, sockets: LiveSockets): UpdatePush {
  const { database, documents, client, connection } = context
  return { push }

  async function push(sessionId: string): Promise<'sent' | 'unreachable' | 'refused'> {
    for (;;) {
      const { row } = await database.read(sessionId)
      if (!row || row.deleted) return 'sent'
      const rows = await database.updates(sessionId, { afterSeq: row.acked, origin: 'local' })
      // Rows of a session that was deleted under this id are not this one's to send.
      const unsent = rows.filter(({ incarnation }) => isIncarnation(row, incarnation))
      const last = unsent.at(-1)
      if (!last) return 'sent'
      if (await sockets.mark(sessionId)) {
        await setAcked(sessionId, row.incarnation, last.seq)
        continue
      }
      const batch = takeBatch(unsent.map((each) => each.bytes))
      const end = unsent[batch.length - 1] ?? last
      const reply = await post(sessionId, row.incarnation, batch)
      if (reply === 'again') continue
      if (reply !== 'stored') return reply
      await setAcked(sessionId, row.incarnation, end.seq)
    }
  }

  async function post(
    sessionId: string,
    incarnation: string,
    batch: readonly Uint8Array[],
  ): Promise<'stored' | 'again' | 'unreachable' | 'refused'> {
    const body = { incarnation, updates: batch.map(bytesToBase64) }
    const reply = connection.hear(await client.postUpdates(sessionId, body))
    if (reply.kind === 'unreachable') return 'unreachable'
    if (reply.kind === 'answer') return (await remote.hear(reply.body)) ? 'stored' : 'unreachable'
    const { code } = reply.problem
    if (code === 'other-incarnation' && reply.current)
      return (await remote.receive(sessionId, reply.current)) ? 'again' : 'unreachable'
    if (reply.status === 410) {
      await remote.deleted(sessionId)
      return 'again'
    }
    if (reply.stateVector !== undefined) return fillGap(sessionId, incarnation, reply.stateVector)
    if (reply.problem.retryable || reply.status === 401) return 'unreachable'
    await refuse(sessionId, reply.problem)
    return 'refused'
  }

  /** The server lacks what comes before: everything that it does not have goes in one update. */
  async function fillGap(
    sessionId: string,
    incarnation: string,
    stateVector: string,
  ): Promise<'stored' | 'unreachable' | 'refused'> {
    const missing = await documents.missing(sessionId, base64ToBytes(stateVector))
    const reply = connection.hear(
      await client.postUpdates(sessionId, { incarnation, updates: [bytesToBase64(missing)] }),
    )
    if (reply.kind === 'answer') return (await remote.hear(reply.body)) ? 'stored' : 'unreachable'
    if (reply.kind !== 'problem' || reply.problem.retryable || reply.status === 401) return 'unreachable'
    await refuse(sessionId, reply.problem)
    return 'refused'
  }

  /** Listed for a person (F20): the messages stay here, and the server does not have them. */
  async function refuse(sessionId: string, problem: Problem): Promise<void> {
    await database.transact(sessionId, 'strict', ({ row }) =>
      row && !row.refused
        ? { change: { row: { ...row, refused: { ...problem, writeId: 'messages' } } }, result: undefined }
        : { result: undefined },
    )
  }

  async function setAcked(sessionId: string, incarnation: string, seq: number): Promise<void> {
    await database.transact(sessionId, 'relaxed', ({ row }) => {
      if (!row || row.incarnation !== incarnation || row.acked >= seq) return { result: undefined }
      return { change: { row: { ...row, confirmed: true, acked: seq } }, result: undefined }
    })
  }
}

function takeBatch(updates: readonly Uint8Array[]): readonly Uint8Array[] {
  let bytes = 0
  const end = updates.findIndex((update, index) => {
    bytes += update.length
    return index > 0 && bytes > BATCH_BYTES
  })
  return end < 0 ? updates : updates.slice(0, end)
}
