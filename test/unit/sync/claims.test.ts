import { createChatSession, isRejoinError, type Rejoin } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ChatConfig } from '../../../src/contract/chat.ts'
import type { Snapshot } from '../../../src/contract/session-snapshot.ts'
import { confirmation, snapshot } from '../contract/snapshots.ts'
import {
  createTestServer,
  deskChat,
  eventually,
  type Refunds,
  SESSION,
  say,
  statuses,
  synced,
  type TestServer,
  texts,
} from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let server: TestServer
let laptop: TestDevice
let phone: TestDevice
let refunds: { ran: Map<string, string[]>; during: () => Promise<void> }
/** How far the laptop's clock is ahead of the time that passed. */
let aheadMs: number

beforeEach(async () => {
  server = await createTestServer()
  laptop = createTestDevice('laptop', server.url)
  phone = createTestDevice('phone', server.url)
  refunds = { ran: new Map(), during: async () => {} } satisfies Refunds
  aheadMs = 0
})

afterEach(async () => {
  await Promise.all([laptop.close(), phone.close()])
  await server.end()
  expect([...laptop.errors, ...phone.errors].filter((error) => !isRejoinError(error, 'closed'))).toEqual([])
})

const refund = (id: string) => ({ name: 'refund', input: { id } })

function openLaptop(): Promise<Rejoin> {
  return laptop.open({ environment: { ...laptop.environment, now: () => Date.now() + aheadMs } })
}

async function load(rejoin: Rejoin): Promise<Snapshot> {
  return (await rejoin.storage.load(SESSION)) as Snapshot
}

/** Refunds go on until the returned function is called. */
function holdRefunds(): () => void {
  let finish = () => {}
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  refunds.during = () => finished
  return finish
}

test('K5 G2 while a claim runs under our session layer nothing waits, and its outcome is recorded all the same', async () => {
  const a = await openLaptop()
  const chatA = await deskChat(a, 'laptop', refunds)
  const record = await chatA.confirmation.propose(refund('1'))
  await synced(a)
  const b = await phone.open()
  const chatB = await deskChat(b, 'phone', refunds)
  const finish = holdRefunds()
  const approved = chatA.confirmation.approve(record.token, SESSION)
  await eventually(() => expect(refunds.ran.get('1')).toEqual(['laptop']))
  await say(chatB, '/start')
  await eventually(() => expect(chatA.session.getConversationSnapshot()?.state).toBe('active'))
  await synced(a)
  finish()
  await expect(approved).resolves.toMatchObject({ status: 'approved' })
  await eventually(() => expect(statuses(chatB)).toEqual({ 1: 'approved' }))
  expect(refunds.ran.get('1')).toEqual(['laptop'])
  await eventually(() => expect(texts(a)).toEqual(texts(b)))
})

test('K5 nothing waits either while a call runs that a chat decides by the store of its session', async () => {
  const a = await openLaptop()
  const memory = a.memory(SESSION)
  const call = { id: 'call-1', name: 'refund', args: { id: '1' } }
  const message = { id: 'm1', role: 'assistant', content: '', createdAt: new Date(0), status: 'complete' } as const
  const asking = [{ ...message, toolCalls: [{ ...call, status: 'requires_confirmation' as const }] }]
  await memory.save(asking)
  const adapter = { createSource: () => ({ async *stream() {}, abort() {} }) }
  const session = createChatSession(
    { id: 'desk', chat: { adapter, memory } },
    { sessionId: SESSION, storage: a.storage },
  )
  const store = (session.chat as ChatConfig).decisionStore
  await store?.putPending({ toolCallId: 'call-1', messages: asking, status: 'pending' })
  await synced(a)
  expect(await store?.claim('call-1', 'approve')).toMatchObject({ status: 'claimed' })

  const b = await phone.open()
  const there = await load(b)
  const more = confirmation({ token: 'confirm-2', toolCallId: 'app-2' })
  const grown = { ...there, cursor: there.cursor + 1, confirmations: [...there.confirmations, more] }
  expect(await b.storage.save(grown, there.cursor)).toBe(true)
  await eventually(async () => expect((await load(a)).confirmations).toHaveLength(2))
  expect(a.claims.get()).toMatchObject([{ state: 'running' }])
  const ran = [{ ...message, toolCalls: [{ ...call, status: 'complete' as const, result: 'refunded' }] }]
  await store?.settle({ toolCallId: 'call-1', messages: ran, status: 'complete', decision: 'approve' })
  await synced(a)
  b.retryNow()
  await eventually(async () => expect((await load(b)).confirmations).toMatchObject([{ status: 'approved' }, more]))
  session.close()
})

test('K5 while a claim runs under another session layer, with ours closed, its session stays as that layer knows it, until it settled', async () => {
  const a = await openLaptop()
  const b = await phone.open()
  const first = snapshot({ sessionId: SESSION, cursor: 0, confirmations: [confirmation()] })
  expect(await a.storage.save(first, undefined)).toBe(true)
  await synced(a)
  const chat = { adapter: { createSource: () => ({ async *stream() {}, abort() {} }) } }
  createChatSession({ id: 'desk', chat }, { sessionId: SESSION, storage: a.storage }).close()
  const approving = { ...first, cursor: 1, confirmations: [confirmation({ status: 'approving' })] }
  expect(await a.storage.save(approving, 0)).toBe(true)

  const there = await load(b)
  const more = confirmation({ token: 'confirm-2', toolCallId: 'app-2' })
  const grown = { ...there, cursor: there.cursor + 1, confirmations: [...there.confirmations, more] }
  expect(await b.storage.save(grown, there.cursor)).toBe(true)
  await synced(b)
  // What the phone did is here, and is held back: the session is not level.
  await eventually(() => expect(a.status.get().unsent.snapshots).toBe(1))
  expect(await load(a)).toEqual(approving)
  const settled = { ...approving, cursor: 2, confirmations: [confirmation({ status: 'approved' })] }
  expect(await a.storage.save(settled, 1)).toBe(true)
  await synced(a)
  const merged = await load(a)
  expect(merged.confirmations.map(({ token, status }) => [token, status])).toEqual([
    ['confirm-1', 'approved'],
    ['confirm-2', 'pending'],
  ])
})

test('K5 another session layer that says nothing for two minutes after the start holds nothing back', async () => {
  const a = await openLaptop()
  const b = await phone.open()
  const first = snapshot({ sessionId: SESSION, cursor: 0, confirmations: [confirmation()] })
  await a.storage.save(first, undefined)
  await synced(a)
  await a.storage.save({ ...first, cursor: 1, confirmations: [confirmation({ status: 'approving' })] }, 0)
  const there = await load(b)
  const more = confirmation({ token: 'confirm-2', toolCallId: 'app-2' })
  aheadMs = 120_000
  await b.storage.save(
    { ...there, cursor: there.cursor + 1, confirmations: [...there.confirmations, more] },
    there.cursor,
  )
  await eventually(async () => expect((await load(a)).confirmations).toHaveLength(2))
})

test('K5 the two minutes count from the start of the run, not from the click', async () => {
  const { environment } = laptop
  const a = await laptop.open({
    environment: {
      ...environment,
      now: () => Date.now() + aheadMs,
      async fetch(input, init) {
        const response = await environment.fetch(input, init)
        // A slow answer, by the device's clock.
        if (String(init?.body).includes('"op":"claim"')) aheadMs = 60_000
        return response
      },
    },
  })
  const b = await phone.open()
  const first = snapshot({ sessionId: SESSION, cursor: 0, confirmations: [confirmation()] })
  await a.storage.save(first, undefined)
  await synced(a)
  const approving = { ...first, cursor: 1, confirmations: [confirmation({ status: 'approving' })] }
  expect(await a.storage.save(approving, 0)).toBe(true)
  aheadMs = 130_000
  const there = await load(b)
  const more = confirmation({ token: 'confirm-2', toolCallId: 'app-2' })
  await b.storage.save(
    { ...there, cursor: there.cursor + 1, confirmations: [...there.confirmations, more] },
    there.cursor,
  )
  await eventually(() => expect(a.status.get().unsent.snapshots).toBe(1))
  expect(await load(a)).toEqual(approving)
})

test('K7 K8 a claim that won and that no page takes is listed after a minute, and a person gives it back', async () => {
  const a = await openLaptop()
  const chatA = await deskChat(a, 'laptop', refunds)
  const record = await chatA.confirmation.propose(refund('1'))
  await synced(a)
  const b = await phone.open()
  const chatB = await deskChat(b, 'phone', refunds)
  laptop.goOffline()
  await expect(chatA.approve(record.toolCallId)).rejects.toMatchObject({ code: 'claim-queued' })
  chatA.close()
  laptop.goOnline()
  await eventually(() => expect(a.claims.get()).toMatchObject([{ state: 'won' }]))
  expect(a.attention.get()).toEqual([])
  aheadMs = 60_000
  await say(chatB, '/start')
  await eventually(() =>
    expect(a.attention.get()).toMatchObject([{ kind: 'claim', state: 'won', token: record.token }]),
  )

  const [item] = a.attention.get()
  if (item?.kind !== 'claim') throw new Error('No claim is listed.')
  await expect(a.attention.settle(item.claimId)).rejects.toMatchObject({ code: 'refused' })
  await a.attention.release(item.claimId)
  await eventually(() => expect(statuses(chatB)).toEqual({ 1: 'pending' }))
  expect(a.attention.get()).toEqual([])
  await deskChat(a, 'laptop', refunds)
  await synced(b)
  await chatB.approve(record.toolCallId)
  expect(refunds.ran.get('1')).toEqual(['phone'])
})

test('K7 G2 a claim that a person gives back offline is not run by a page that opens then, and is given back later', async () => {
  const a = await openLaptop()
  const chatA = await deskChat(a, 'laptop', refunds)
  const record = await chatA.confirmation.propose(refund('1'))
  await synced(a)
  laptop.goOffline()
  await expect(chatA.approve(record.toolCallId)).rejects.toMatchObject({ code: 'claim-queued' })
  chatA.close()
  laptop.goOnline()
  await eventually(() => expect(a.claims.get()).toMatchObject([{ state: 'won' }]))
  const claimId = a.claims.get()[0]?.claimId ?? ''
  laptop.goOffline()
  await expect(a.attention.release(claimId)).rejects.toMatchObject({ code: 'claim-queued' })
  const again = await deskChat(a, 'laptop', refunds)
  await eventually(() => expect(a.attention.get()).toMatchObject([{ kind: 'claim', state: 'attention' }]))
  laptop.goOnline()
  await synced(a)
  await a.attention.release(claimId)
  await eventually(() => expect(statuses(again)).toEqual({ 1: 'pending' }))
  expect(refunds.ran.size).toBe(0)
})

test('K8 a run that takes long is listed in every tab; another tab may say that it ran, not that it did not', async () => {
  const a = await openLaptop()
  const second = await openLaptop()
  const chatA = await deskChat(a, 'laptop', refunds)
  const record = await chatA.confirmation.propose(refund('1'))
  await synced(a)
  const chatB = await deskChat(second, 'second tab', refunds)
  const finish = holdRefunds()
  const approved = chatA.approve(record.toolCallId)
  await eventually(() => expect(second.claims.get()).toMatchObject([{ state: 'running' }]))
  const claimId = second.claims.get()[0]?.claimId ?? ''
  await expect(second.attention.settle(claimId)).rejects.toMatchObject({ code: 'refused' })
  aheadMs = 60_000
  await say(chatB, '/start')
  await eventually(() => expect(second.attention.get()).toMatchObject([{ kind: 'claim', state: 'running', claimId }]))
  await expect(second.attention.release(claimId)).rejects.toMatchObject({ code: 'refused' })
  await second.attention.settle(claimId)
  await eventually(() => expect(second.attention.get()).toEqual([]))
  finish()
  await expect(approved).resolves.toMatchObject({ status: 'approved' })
  expect(refunds.ran.get('1')).toEqual(['laptop'])
  await synced(a)
})

/** A laptop whose server refuses what has `part` in it, for good, until it relents. */
async function openRefused(part: string) {
  const refusal = { refusing: true, asked: 0 }
  const { environment } = laptop
  const a = await laptop.open({
    environment: {
      ...environment,
      async fetch(input, init) {
        const meant = String(init?.body).includes(part)
        if (meant) refusal.asked++
        if (!meant || !refusal.refusing) return environment.fetch(input, init)
        const problem = { code: 'forbidden', message: 'You may not write here.', retryable: false, at: Date.now() }
        return new Response(JSON.stringify(problem), { status: 403 })
      },
    },
  })
  return { a, refusal }
}

const forbidden = { kind: 'refused', sessionId: SESSION, problem: { code: 'forbidden' } }

test('G9 K6 a settlement that the server refuses for good is listed and not told again before a person asks for it', async () => {
  const { a, refusal } = await openRefused('"op":"settle"')
  const chatA = await deskChat(a, 'laptop', refunds)
  const record = await chatA.confirmation.propose(refund('1'))
  await synced(a)
  await chatA.approve(record.toolCallId)
  await eventually(() => expect(a.attention.get()).toMatchObject([{ ...forbidden, token: record.token }]))
  await eventually(() => expect(a.status.get()).toMatchObject({ state: 'syncing', refused: 1, unsent: { claims: 0 } }))
  await say(chatA, 'hello')
  a.retryNow()
  const b = await phone.open()
  const chatB = await deskChat(b, 'phone', refunds)
  await eventually(() => expect(texts(b)).toEqual(texts(a)))
  expect(refusal.asked).toBe(1)
  refusal.refusing = false
  await a.attention.retry(SESSION)
  await synced(a)
  expect(a.attention.get()).toEqual([])
  await eventually(() => expect(statuses(chatB)).toEqual({ 1: 'approved' }))
})

test('G9 K9 an own decision that the server refuses for good is listed, sent once, and kept for a person to send', async () => {
  const { a, refusal } = await openRefused('"op":"claim"')
  const chatA = await deskChat(a, 'laptop', refunds)
  laptop.goOffline()
  const record = await chatA.confirmation.propose(refund('1'))
  await chatA.approve(record.toolCallId)
  laptop.goOnline()
  await eventually(() => expect(a.attention.get()).toMatchObject([{ ...forbidden, token: record.token }]))
  await say(chatA, 'hello')
  a.retryNow()
  const b = await phone.open()
  await deskChat(b, 'phone', refunds)
  await eventually(() => expect(texts(b)).toEqual(texts(a)))
  expect(refusal.asked).toBe(1)
  refusal.refusing = false
  await a.attention.retry(SESSION)
  await synced(a)
  const chatB = await deskChat(b, 'phone', refunds)
  await eventually(() => expect(statuses(chatB)).toEqual({ 1: 'approved' }))
  expect(refunds.ran.get('1')).toEqual(['laptop'])
})

test('K4 a click that the server refuses for good is over, says why, and may be made again', async () => {
  const { a, refusal } = await openRefused('"op":"claim"')
  const chatA = await deskChat(a, 'laptop', refunds)
  const record = await chatA.confirmation.propose(refund('1'))
  await synced(a)
  await expect(chatA.approve(record.toolCallId)).rejects.toMatchObject({ code: 'refused' })
  expect(a.claims.get()).toMatchObject([{ state: 'refused', problem: { code: 'forbidden' } }])
  await synced(a)
  expect(refusal.asked).toBe(1)
  refusal.refusing = false
  await expect(chatA.approve(record.toolCallId)).resolves.toMatchObject({ status: 'approved' })
})

test('K8 a release that the server refuses for good says so, and the claim stays listed', async () => {
  const { a } = await openRefused('"op":"release"')
  const chatA = await deskChat(a, 'laptop', refunds)
  const record = await chatA.confirmation.propose(refund('1'))
  await synced(a)
  laptop.goOffline()
  await expect(chatA.approve(record.toolCallId)).rejects.toMatchObject({ code: 'claim-queued' })
  chatA.close()
  laptop.goOnline()
  await eventually(() => expect(a.claims.get()).toMatchObject([{ state: 'won' }]))
  const claimId = a.claims.get()[0]?.claimId ?? ''
  await expect(a.attention.release(claimId)).rejects.toMatchObject({
    code: 'refused',
    message: 'You may not write here.',
  })
  await eventually(() => expect(a.attention.get()).toMatchObject([{ kind: 'claim', claimId, state: 'attention' }]))
})

test('K6 K7 a denial that was queued is settled when it wins, also where the message of its call is gone by then', async () => {
  const a = await openLaptop()
  const chatA = await deskChat(a, 'laptop', refunds)
  const record = await chatA.confirmation.propose(refund('1'))
  await synced(a)
  const b = await phone.open()
  const chatB = await deskChat(b, 'phone', refunds)
  laptop.goOffline()
  await expect(chatA.deny(record.toolCallId)).rejects.toMatchObject({ code: 'claim-queued' })
  await chatA.controller.clear()
  await eventually(() => expect(texts(a)).toEqual([]))
  laptop.goOnline()
  await eventually(() => expect(statuses(chatA)).toEqual({ 1: 'rejected' }))
  await eventually(() => expect(statuses(chatB)).toEqual({ 1: 'rejected' }))
  expect(a.attention.get()).toEqual([])
  expect(refunds.ran.size).toBe(0)
})
