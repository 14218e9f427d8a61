import type { SessionRow } from '../core/device-session.ts'
import { areMessagesRefused, refuseMessages } from '../core/refused-messages.ts'
import { isIncarnation } from '../core/save-snapshot.ts'
import { createLogState } from '../messages/log-state.ts'
import { splitUpdate } from '../messages/split-update.ts'
import { base64ToBytes, bytesToBase64 } from '../protocol/base64.ts'
import type { Problem } from '../protocol/problem.ts'
import type { RemoteChanges } from './apply-remote.ts'
import { createExchange } from './exchange.ts'
import type { Reply } from './http-client.ts'
import type { LiveSockets } from './live-sockets.ts'
import type { SyncContext } from './sync-context.ts'

/** One request carries at most this many bytes of updates, before base64. */
const BATCH_BYTES = 384 * 1024

type Posted = 'stored' | 'again' | 'unreachable' | 'refused'

export interface UpdatePush {
  /**
   * `sent`: the server has durably all local updates. `refused`: it will not take them; they are not sent again before a
   * person asks for it.
   */
  readonly push: (sessionId: string) => Promise<'sent' | 'unreachable' | 'refused'>
}

/** Sends local updates: over the session's socket while there is one, else by POST. */
export function createUpdatePush(context: SyncContext, remote: RemoteChanges, sockets: LiveSockets): UpdatePush {
  const { database, documents, client } = context
  const ask = createExchange(context)
  return { push }

  async function push(sessionId: string): Promise<'sent' | 'unreachable' | 'refused'> {
    for (;;) {
      const { row } = await database.read(sessionId)
      if (!row || row.deleted) return 'sent'
      if (areMessagesRefused(row)) return 'refused'
      if (row.giveBack) {
        const given = await giveBack(sessionId, row)
        if (given === 'again' || given === 'stored') continue
        return given
      }
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
      const reply = await postAll(sessionId, row.incarnation, batch)
      if (reply === 'again') continue
      if (reply !== 'stored') return reply
      await setAcked(sessionId, row.incarnation, end.seq)
    }
  }

  /**
   * Another epoch began: everything of the document that the server's log lacks, whoever wrote it and whether or not it
   * was acknowledged before, rule I5.
   */
  async function giveBack(sessionId: string, { incarnation, epoch }: SessionRow): Promise<Posted> {
    const lastSeq = await database.lastSeq(sessionId)
    if (lastSeq > 0 && !(await sockets.mark(sessionId))) {
      const known = await readStateVector(sessionId, incarnation)
      if (known === 'again' || known === 'unreachable') return known
      const posted = await postAll(sessionId, incarnation, [await documents.missing(sessionId, known)])
      if (posted !== 'stored') return posted
    }
    await database.transact(sessionId, 'relaxed', ({ row }) => {
      // Of a further epoch: its server has not got it yet.
      if (!row?.giveBack || row.incarnation !== incarnation || row.epoch !== epoch) return { result: undefined }
      const { giveBack: _giveBack, ...kept } = row
      return { change: { row: { ...kept, acked: Math.max(row.acked, lastSeq) } }, result: undefined }
    })
    return 'stored'
  }

  /** What the server's log has; nothing where it has no such session. */
  async function readStateVector(
    sessionId: string,
    incarnation: string,
  ): Promise<Uint8Array | 'again' | 'unreachable'> {
    const log = createLogState()
    try {
      for (let since = 0; ; ) {
        const reply = await ask(sessionId, () => client.getUpdates(sessionId, since, incarnation, context.signal))
        if (reply.kind === 'problem' && reply.status === 404) return log.stateVector()
        if (reply.kind === 'problem') return refusedElsewhere(sessionId, reply)
        if (reply.kind !== 'answer' || !(await remote.hear(reply.body))) return 'unreachable'
        log.add(reply.body.updates.map(base64ToBytes))
        if (!reply.body.more || reply.body.head <= since) return log.stateVector()
        since = reply.body.head
      }
    } finally {
      log.release()
    }
  }

  /** The id has another fate on the server: `again` when the device has taken it in. */
  async function refusedElsewhere(
    sessionId: string,
    { status, problem, current }: Extract<Reply<unknown>, { kind: 'problem' }>,
  ): Promise<'again' | 'unreachable'> {
    if (problem.code === 'other-incarnation' && current) {
      return (await remote.receive(sessionId, current)) ? 'again' : 'unreachable'
    }
    if (status !== 410) return 'unreachable'
    await remote.deleted(sessionId)
    return 'again'
  }

  /** One request carries no more than the server takes: what is larger goes in pieces, one after the other. */
  async function postAll(sessionId: string, incarnation: string, batch: readonly Uint8Array[]): Promise<Posted> {
    const pieces = batch.flatMap((update) => splitUpdate(update, BATCH_BYTES))
    while (pieces.length > 0) {
      const next = takeBatch(pieces)
      const posted = await post(sessionId, incarnation, next)
      if (posted !== 'stored') return posted
      pieces.splice(0, next.length)
    }
    return 'stored'
  }

  async function post(sessionId: string, incarnation: string, batch: readonly Uint8Array[]): Promise<Posted> {
    const body = { incarnation, updates: batch.map(bytesToBase64) }
    const reply = await ask(sessionId, () => client.postUpdates(sessionId, body))
    if (reply.kind === 'unreachable') return 'unreachable'
    if (reply.kind === 'answer') return (await remote.hear(reply.body)) ? 'stored' : 'unreachable'
    if (reply.problem.code === 'other-incarnation' || reply.status === 410) return refusedElsewhere(sessionId, reply)
    if (reply.stateVector !== undefined) return fillGap(sessionId, incarnation, reply.stateVector)
    if (reply.problem.retryable || reply.status === 401) return 'unreachable'
    await refuse(sessionId, reply.problem)
    return 'refused'
  }

  /** The server lacks what comes before: everything that it does not have is sent, as far as it goes at once. */
  async function fillGap(sessionId: string, incarnation: string, stateVector: string): Promise<Posted> {
    const missing = await documents.missing(sessionId, base64ToBytes(stateVector))
    for (const piece of splitUpdate(missing, BATCH_BYTES)) {
      const body = { incarnation, updates: [bytesToBase64(piece)] }
      const reply = await ask(sessionId, () => client.postUpdates(sessionId, body))
      if (reply.kind === 'answer' && (await remote.hear(reply.body))) continue
      if (reply.kind !== 'problem' || reply.problem.retryable || reply.status === 401) return 'unreachable'
      await refuse(sessionId, reply.problem)
      return 'refused'
    }
    return 'stored'
  }

  /** Listed for a person (F20): the messages stay here, and the server does not have them. */
  async function refuse(sessionId: string, problem: Problem): Promise<void> {
    await database.transact(sessionId, 'strict', ({ row }) =>
      row ? { change: { row: refuseMessages(row, problem) }, result: undefined } : { result: undefined },
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
