import { type AnswerContext, type AppliedAnswer, applyAnswer } from '../core/apply-answer.ts'
import type { Decided, DeviceSession, MetaRow, SessionRow } from '../core/device-session.ts'
import { enterEpoch, isOver, isToEnter } from '../core/enter-epoch.ts'
import { markDeleted } from '../core/mark-deleted.ts'
import type { Common } from '../protocol/answer-fields.ts'
import { base64ToBytes } from '../protocol/base64.ts'
import { type Epoch, type Incarnation, isEarlierEpoch } from '../protocol/identity.ts'
import type { SessionAnswer } from '../protocol/session-answer.ts'
import type { GetUpdatesAnswer } from '../protocol/updates.ts'
import { refuseServer, SERVER_BEHIND } from './connection.ts'
import { createExchange } from './exchange.ts'
import type { SyncContext } from './sync-context.ts'

/** An answer is held back for a running claim at most this long after its start, rule K5. */
const HOLD_BACK_MS = 120_000

export interface RemoteChanges {
  /** Takes an answer in, its messages first. `undefined`: it is not for this device, or its updates could not be had. */
  readonly receive: (
    sessionId: string,
    answer: SessionAnswer,
    options?: { readonly mayBegin: boolean },
  ) => Promise<AppliedAnswer | undefined>
  /** Checks who answers, and learns the epoch and the clock. False: the answer is not to be used. */
  readonly hear: (answer: Common) => Promise<boolean>
  readonly deleted: (sessionId: string) => Promise<void>
  /**
   * True while a claim runs here that a foreign session layer will settle with a save at the cursor that it knows, so that
   * the session is neither pushed nor merged, rule K5. Our own layer looks again after a conflict: nothing waits for it.
   */
  readonly holdsBack: (sessionId: string) => Promise<boolean>
}

/**
 * Brings what the server says to disk: updates before the snapshot that names them, rule R8. `onEpoch`: another epoch
 * began, and everything is to be looked at and given back.
 */
export function createRemoteChanges(context: SyncContext, onEpoch: () => void): RemoteChanges {
  const { database, documents, client, connection, environment } = context
  const ask = createExchange(context)
  const order = new Map<string, Promise<unknown>>()
  let entering: Promise<void> | undefined
  return {
    receive: (sessionId, answer, options) => inOrder(sessionId, () => receive(sessionId, answer, options?.mayBegin)),
    hear,
    deleted,
    holdsBack,
  }

  async function receive(
    sessionId: string,
    answer: SessionAnswer,
    mayBegin = false,
  ): Promise<AppliedAnswer | undefined> {
    if (!(await hear(answer))) return undefined
    // The row and its incarnation first, since the updates are stored under it.
    const before = { ...answer, snapshot: null, etag: null }
    const unsentUpdates = await hasUnsent(sessionId)
    const base = { sessionId, epoch: context.meta().epoch, now: context.now(), unsentUpdates }
    const prepared = await database.transact(sessionId, 'strict', (session) =>
      take(session, before, { ...base, mayBegin, holdBack: false }),
    )
    if (prepared.kind !== 'no-snapshot') return prepared
    if (!(await pull(sessionId, answer.head))) return undefined
    if (!answer.snapshot) return prepared
    const messages = await documents.messages(sessionId)
    const holdBack = await holdsBack(sessionId)
    return database.transact(sessionId, 'strict', (session) =>
      take(session, answer, {
        ...base,
        holdBack,
        ...(messages?.whole && { hasMessage: (id) => messages.ids.has(id) }),
      }),
    )
  }

  /** Decided inside the transaction: another epoch may have begun since the answer was heard, and entered the row. */
  function take(session: DeviceSession, answer: SessionAnswer, options: AnswerContext): Decided<AppliedAnswer> {
    return hasEnded(answer.epoch) ? { result: { kind: 'ignored' } } : applyAnswer(session, answer, options)
  }

  function hasEnded(epoch: Epoch): boolean {
    return entering !== undefined || context.meta().epoch !== epoch
  }

  /** Messages that would be lost with this device; in a new epoch, all of them may be. */
  async function hasUnsent(sessionId: string): Promise<boolean> {
    const { row } = await database.read(sessionId)
    if (row?.giveBack) return (await database.lastSeq(sessionId)) > 0
    return (await database.updates(sessionId, { afterSeq: row?.acked ?? 0, origin: 'local' })).length > 0
  }

  /** Stores what follows the device's position, up to the log's head. False: not all of it could be had. */
  async function pull(sessionId: string, head: number): Promise<boolean> {
    for (;;) {
      const { row } = await database.read(sessionId)
      if (!row || row.deleted) return false
      const { incarnation } = row
      if (reaches(row, incarnation, head)) return true
      const reply = await ask(sessionId, () => client.getUpdates(sessionId, row.pulled, incarnation, context.signal))
      if (reply.kind !== 'answer' || !(await hear(reply.body))) return false
      const { body } = reply
      if (body.incarnation !== incarnation) return false
      const standing = (await database.read(sessionId)).row
      // Deleted, or another one by now: these messages are not its own.
      if (standing?.incarnation !== incarnation || standing.deleted) return false
      if (body.updates.length > 0) await documents.receive(sessionId, body.updates.map(base64ToBytes))
      const progressed = await setPulled(sessionId, incarnation, body)
      // Another tab may have got there. A log that ends before what the snapshot names is not all of it, rule R8.
      if (!progressed) return reaches((await database.read(sessionId)).row, incarnation, head)
    }
  }

  function setPulled(
    sessionId: string,
    incarnation: string,
    { head: position, epoch }: GetUpdatesAnswer,
  ): Promise<boolean> {
    return database.transact(sessionId, 'relaxed', ({ row }) => {
      // Another epoch began since it was asked: the position means nothing there.
      if (hasEnded(epoch) || (row && isOver(row, epoch))) return { result: false }
      if (row?.incarnation !== incarnation || row.pulled >= position) return { result: false }
      return { change: { row: { ...row, confirmed: true, pulled: position } }, result: true }
    })
  }

  async function hear(answer: Common): Promise<boolean> {
    const meta = context.meta()
    const refused = refuseServer(answer, meta) ?? (connection.hasEnded(answer.epoch) ? SERVER_BEHIND : undefined)
    if (refused) {
      connection.set(refused)
      return false
    }
    const clockOffsetMs = answer.time - environment.now()
    if (!(await reach(answer))) return false
    const moved = Math.abs(clockOffsetMs - meta.clockOffsetMs) > 1000
    if (moved || context.meta().epoch !== answer.epoch || meta.serverId === undefined) {
      await context.updateMeta((now) => ({
        ...inEpoch(now, answer.epoch),
        serverId: answer.server,
        clockOffsetMs: moved ? clockOffsetMs : now.clockOffsetMs,
      }))
    }
    return context.meta().epoch === answer.epoch
  }

  /** Enters the epoch of an answer, one epoch at a time. False: a later one began here, the answer is old. */
  async function reach(answer: Common): Promise<boolean> {
    for (;;) {
      // Some rows are in the new epoch already: an answer of the one before comes too late for them.
      await entering
      const { epoch } = context.meta()
      if (epoch === undefined || epoch === answer.epoch) return true
      if (isEarlierEpoch(answer.epoch, epoch)) return false
      entering ??= enter(answer).finally(leave)
    }
  }

  /** Once for all answers of the epoch that are on their way, and for all tabs: the last step says that it is done. */
  async function enter(answer: Common): Promise<void> {
    if ((await database.meta()).epoch !== answer.epoch) {
      while (await enterRows(answer.epoch));
    }
    await context.updateMeta((now) => inEpoch(now, answer.epoch))
    onEpoch()
  }

  /** False: there was none left; a session may have been begun while the others were entered. */
  async function enterRows(epoch: Epoch): Promise<boolean> {
    const rows = (await database.sessions()).filter((row) => isToEnter(row, epoch))
    for (const { sessionId } of rows) {
      await database.transact(sessionId, 'strict', (session) => enterEpoch(session, epoch))
    }
    return rows.length > 0
  }

  function leave(): void {
    entering = undefined
  }

  async function deleted(sessionId: string): Promise<void> {
    for (;;) {
      const [unsentUpdates, lastSeq] = await Promise.all([hasUnsent(sessionId), database.lastSeq(sessionId)])
      const done = await database.transactUpdates(sessionId, 'strict', (session) => {
        // A message came in between: whether it was sent is to be looked at again.
        if (session.lastSeq !== lastSeq) return { result: false }
        const { change } = markDeleted(session, context.now(), unsentUpdates)
        return { ...(change && { change }), result: true }
      })
      if (done) return
    }
  }

  async function holdsBack(sessionId: string): Promise<boolean> {
    const { claims } = await database.read(sessionId)
    for (const claim of claims) {
      const { claimId, state, foreign, startedAt = claim.deviceAt } = claim
      const recent = environment.now() - startedAt < HOLD_BACK_MS
      if (state === 'running' && foreign && recent && (await context.running.isHeld(claimId))) return true
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

function reaches(row: SessionRow | undefined, incarnation: Incarnation, head: number): boolean {
  return row?.incarnation === incarnation && row.pulled >= head
}

/** The feed of another epoch is another one. Another tab may be in a later epoch already. */
function inEpoch(now: MetaRow, epoch: Epoch): MetaRow {
  if (now.epoch === epoch || (now.epoch !== undefined && isEarlierEpoch(epoch, now.epoch))) return now
  return { ...now, epoch, since: 0 }
}
