import { type AppliedAnswer, applyAnswer } from '../core/apply-answer.ts'
import { enterEpoch } from '../core/enter-epoch.ts'
import { markDeleted } from '../core/mark-deleted.ts'
import type { Common } from '../protocol/answer-fields.ts'
import { base64ToBytes } from '../protocol/base64.ts'
import { isEarlierEpoch } from '../protocol/identity.ts'
import type { SessionAnswer } from '../protocol/session-answer.ts'
import { hasUnsentUpdates } from '../storage/session-index.ts'
import { refuseServer } from './connection.ts'
import type { SyncContext } from './sync-context.ts'

/** An answer is held back for a running claim at most this long, rule K5. */
const HOLD_BACK_MS = 120_000

export interface RemoteChanges {
  /** Takes an answer in, its messages first. `undefined`: it is not for this device, or its updates could not be had. */
  readonly receive: (sessionId: string, answer: SessionAnswer) => Promise<AppliedAnswer | undefined>
  /** Stores what follows the device's position, up to the log's head. False: not all of it could be had. */
  readonly pull: (sessionId: string, head: number) => Promise<boolean>
  /** Checks who answers, and learns the epoch and the clock. False: the answer is not to be used. */
  readonly hear: (answer: Common) => Promise<boolean>
  readonly deleted: (sessionId: string) => Promise<void>
  /** True while a claim of this device runs, so that its session is neither pushed nor merged. */
  readonly holdsBack: (sessionId: string) => Promise<boolean>
}

/** Brings what the server says to disk: updates before the snapshot that names them, rule R8. */
export function createRemoteChanges(context: SyncContext): RemoteChanges {
  const { database, documents, client, connection, environment, index } = context
  const order = new Map<string, Promise<unknown>>()
  return {
    receive: (sessionId, answer) => inOrder(sessionId, () => receive(sessionId, answer)),
    pull,
    hear,
    deleted,
    holdsBack,
  }

  async function receive(sessionId: string, answer: SessionAnswer): Promise<AppliedAnswer | undefined> {
    if (!(await hear(answer))) return undefined
    // The row and its incarnation first, since the updates are stored under it.
    const before = { ...answer, snapshot: null, etag: null }
    const base = { sessionId, epoch: context.meta().epoch, now: context.now() }
    const prepared = await database.transact(sessionId, 'strict', (session) =>
      applyAnswer(session, before, { ...base, holdBack: false }),
    )
    if (prepared.kind !== 'no-snapshot') return prepared
    if (!(await pull(sessionId, answer.head))) return undefined
    if (!answer.snapshot) return prepared
    const messages = await documents.messageIds(sessionId)
    const holdBack = await holdsBack(sessionId)
    return database.transact(sessionId, 'strict', (session) =>
      applyAnswer(session, answer, { ...base, holdBack, hasMessage: (id) => messages.has(id) }),
    )
  }

  async function pull(sessionId: string, head: number): Promise<boolean> {
    for (;;) {
      const { row } = await database.read(sessionId)
      if (!row || row.deleted) return false
      if (row.pulled >= head) return true
      const { incarnation } = row
      const reply = connection.hear(await client.getUpdates(sessionId, row.pulled, incarnation, context.signal))
      if (reply.kind !== 'answer' || !(await hear(reply.body))) return false
      const { body } = reply
      if (body.incarnation !== incarnation) return false
      if (body.updates.length > 0) await documents.receive(sessionId, body.updates.map(base64ToBytes))
      const progressed = await setPulled(sessionId, incarnation, body.head)
      if (!body.more) return true
      if (!progressed) return false
    }
  }

  function setPulled(sessionId: string, incarnation: string, position: number): Promise<boolean> {
    return database.transact(sessionId, 'relaxed', ({ row }) => {
      if (row?.incarnation !== incarnation || row.pulled >= position) return { result: false }
      return { change: { row: { ...row, confirmed: true, pulled: position } }, result: true }
    })
  }

  async function hear(answer: Common): Promise<boolean> {
    const meta = context.meta()
    const refused = refuseServer(answer, meta)
    if (refused) {
      connection.set({ state: 'error', reason: refused })
      return false
    }
    if (meta.epoch !== undefined && isEarlierEpoch(answer.epoch, meta.epoch)) return false
    const clockOffsetMs = answer.time - environment.now()
    if (meta.epoch !== answer.epoch && meta.epoch !== undefined) {
      for (const { sessionId } of await database.sessions()) await database.transact(sessionId, 'strict', enterEpoch)
    }
    const moved = Math.abs(clockOffsetMs - meta.clockOffsetMs) > 1000
    if (moved || meta.epoch !== answer.epoch || meta.serverId === undefined) {
      await context.updateMeta((now) => ({
        ...now,
        serverId: answer.server,
        epoch: answer.epoch,
        since: now.epoch === answer.epoch ? now.since : 0,
        clockOffsetMs: moved ? clockOffsetMs : now.clockOffsetMs,
      }))
    }
    return true
  }

  async function deleted(sessionId: string): Promise<void> {
    const entry = index.get().get(sessionId)
    const unsent = entry !== undefined && hasUnsentUpdates(entry)
    await database.transactUpdates(sessionId, 'strict', (session) => markDeleted(session, context.now(), unsent))
  }

  async function holdsBack(sessionId: string): Promise<boolean> {
    const { claims } = await database.read(sessionId)
    for (const claim of claims) {
      const recent = environment.now() - claim.deviceAt < HOLD_BACK_MS
      if (claim.state === 'running' && recent && (await context.running.isHeld(claim.claimId))) return true
    }
    return false
  }

  function inOrder<T>(sessionId: string, run: () => Promise<T>): Promise<T> {
    const previous = order.get(sessionId) ?? Promise.resolve()
    const next = previous.then(run, run)
    const settled = next.catch(() => undefined)
    order.set(sessionId, settled)
    void settled.then(() => {
      if (order.get(sessionId) === settled) order.delete(sessionId)
    })
    return next
  }
}
