import { expect, test } from 'vitest'
import type { DeviceSession } from '../../../src/core/device-session.ts'
import { beginPush, forgetPush, type PushContext, refusePush } from '../../../src/core/push-snapshot.ts'
import {
  answer,
  claimRow,
  committed,
  confirmation,
  EPOCH,
  etagAt,
  row,
  session,
  snapshot,
  syncedRow,
  view,
} from './sessions.ts'

const context: PushContext = { epoch: EPOCH, newWriteId: 'w1', unackedUpdates: false, holdBack: false }
const stored = snapshot({ cursor: 3 })
const dirty = syncedRow(stored, { local: snapshot({ cursor: 5 }), dirty: true })

test('R3 a dirty session is put on the base that it stands on', () => {
  const { change, result } = beginPush(session(dirty), context)
  expect(result).toEqual({
    kind: 'put',
    request: { incarnation: 'inc', writeId: 'w1', snapshot: dirty.local },
    ifMatch: etagAt(3),
  })
  expect(change?.row?.sent).toEqual({ writeId: 'w1', snapshot: dirty.local, ifMatch: etagAt(3), inDoubt: [] })
})

test('I1 without a base it is created', () => {
  const fresh = row({ local: snapshot(), dirty: true })
  expect(beginPush(session(fresh), context).result).toMatchObject({ kind: 'put', ifMatch: null })
})

test('R3 the local cursor is raised above the base before it is sent', () => {
  const behind = syncedRow(snapshot({ cursor: 9 }), { local: snapshot({ cursor: 5 }), dirty: true })
  const { change, result } = beginPush(session(behind), context)
  expect(change?.row?.local?.cursor).toBe(10)
  expect(result).toMatchObject({ request: { snapshot: { cursor: 10 } } })
})

test('R3 while a PUT is unanswered it is sent again unchanged, whatever happened since', () => {
  const sent = committed(session(dirty), beginPush(session(dirty), context))
  const moved: DeviceSession = {
    ...sent,
    row: { ...dirty, sent: sent.row?.sent, local: snapshot({ cursor: 8 }) },
    claims: [claimRow({ own: true, state: 'running' })],
  }
  const again = beginPush(moved, { ...context, newWriteId: 'w2', unackedUpdates: true })
  expect(again.change).toBeUndefined()
  expect(again.result).toMatchObject({ request: { writeId: 'w1', snapshot: { cursor: 5 } }, ifMatch: etagAt(3) })
})

test('K1 what is sent has left this device, and stays left', () => {
  const proposed = snapshot({ cursor: 5, confirmations: [confirmation()] })
  const { change } = beginPush(session({ ...dirty, local: proposed, left: { old: '1-x' } }), context)
  expect(change?.row?.left).toEqual({ old: '1-x', 'confirm-1': EPOCH })
})

test('I5 tokens that left in an earlier epoch are named, also what became of them', () => {
  const confirmations = [
    confirmation({ token: 'earlier', toolCallId: 'a' }),
    confirmation({ token: 'done', toolCallId: 'b', status: 'approved' }),
    confirmation({ token: 'now', toolCallId: 'c' }),
    confirmation({ token: 'constructor', toolCallId: 'd' }),
  ]
  const left = { earlier: '1-x', done: '1-x', now: EPOCH }
  const { result } = beginPush(session({ ...dirty, local: snapshot({ cursor: 5, confirmations }), left }), context)
  expect(result).toMatchObject({ request: { inDoubt: ['earlier', 'done'] } })
})

test.each([
  ['there is no session', session(undefined)],
  ['there is no snapshot', session(row({ dirty: true }))],
  ['nothing changed', session(syncedRow(stored))],
  ['the session was deleted', session({ ...dirty, deleted: { at: 1, unsynced: true } })],
  [
    'the server refused it for good',
    session({ ...dirty, refused: { code: 'too-large', message: '', retryable: false, at: 1, writeId: 'w0' } }),
  ],
])('R2 nothing is sent when %s', (_, held) => {
  expect(beginPush(held, context)).toEqual({ result: { kind: 'nothing' } })
})

test('R8 messages are acknowledged before the snapshot that names them is sent', () => {
  const { change, result } = beginPush(session(dirty), { ...context, unackedUpdates: true })
  expect(result).toEqual({ kind: 'wait', for: 'messages' })
  expect(change).toBeUndefined()
})

test('K5 nothing is sent while a claim runs under a session layer that is not ours', () => {
  const { result } = beginPush(session(dirty), { ...context, holdBack: true })
  expect(result).toEqual({ kind: 'wait', for: 'running' })
})

test('K9 a snapshot waits for the own decisions and settlements of its session', () => {
  const own = claimRow({ own: true, state: 'running' })
  expect(beginPush(session(dirty, own), context).result).toEqual({ kind: 'wait', for: 'claims' })
  const untold = claimRow({ state: 'settled', outcome: 'approved' })
  expect(beginPush(session(dirty, untold), context).result).toEqual({ kind: 'wait', for: 'claims' })
  const heard = { ...dirty, claims: { 'confirm-1': view() } }
  expect(beginPush(session(heard, own), context).result.kind).toBe('put')
})

test('K3 a decision that waits for the server holds no snapshot back', () => {
  for (const state of ['waiting', 'sent', 'won'] as const) {
    expect(beginPush(session(dirty, claimRow({ state })), context).result.kind).toBe('put')
  }
})

test('R3 a permanent refusal ends the PUT and says why; only the PUT that was refused', () => {
  const problem = { code: 'too-large', message: 'Too large.', retryable: false, at: 7 }
  const sent = committed(session(dirty), beginPush(session(dirty), context))
  expect(refusePush(sent, 'other', problem)).toEqual({ result: false })
  const refusing = refusePush(sent, 'w1', problem)
  expect(refusing.result).toBe(true)
  const refused = committed(sent, refusing)
  expect(refused.row?.sent).toBeUndefined()
  expect(refused.row?.refused).toEqual({ ...problem, writeId: 'w1' })
  expect(refused.row?.dirty).toBe(true)
})

test('R3 a 412 ends the PUT that it answers and no other', () => {
  const sent = committed(session(dirty), beginPush(session(dirty), context))
  expect(forgetPush(sent, 'other')).toEqual({ result: false })
  const forgetting = forgetPush(sent, 'w1')
  expect(forgetting.result).toBe(true)
  expect(committed(sent, forgetting).row?.sent).toBeUndefined()
})

test('R4 K5 a PUT that was stored is kept while its answer is held back: it is what both sides share', () => {
  const sent = committed(session(dirty), beginPush(session(dirty), context))
  const row = sent.row && { ...sent.row, incoming: answer(snapshot({ cursor: 5 }), { lastWriteId: 'w1' }) }
  expect(forgetPush(session(row), 'w1')).toEqual({ result: false })
})
