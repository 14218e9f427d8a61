import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createChatController } from '@agentskit/core'
import { type ConnectedChat, commandRoute, connectChat, defineChat, isRejoinError, type Rejoin } from 'rejoin'
import { startServer } from 'rejoin-server'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createTestDevice, type TestDevice } from './device.ts'

const SESSION = 'order-1'
let folder: string
let server: Awaited<ReturnType<typeof startServer>>
let laptop: TestDevice
let phone: TestDevice
let refunds: string[]
/** The refund is counted, and its call never ends. */
let hang: boolean

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'rejoin-'))
  server = await startServer({ port: 0, file: path.join(folder, 'data.sqlite'), account: 'test' })
  laptop = createTestDevice('laptop', server.url)
  phone = createTestDevice('phone', server.url)
  refunds = []
  hang = false
})

afterEach(async () => {
  await Promise.all([laptop.close(), phone.close()])
  await server.close()
  await rm(folder, { recursive: true, force: true })
  expect([...laptop.errors, ...phone.errors].filter((error) => !isRejoinError(error, 'deleted'))).toEqual([])
})

function chatOn(rejoin: Rejoin, by: string, sessionId = SESSION): Promise<ConnectedChat> {
  return connectChat({
    rejoin,
    sessionId,
    createController: createChatController,
    definition: defineChat({
      id: 'desk',
      chat: {
        adapter: {
          createSource: () => ({
            async *stream() {
              yield { type: 'text', content: `Hello from ${by}. ` }
              yield { type: 'text', content: 'Bye.' }
              yield { type: 'done' }
            },
            abort() {},
          }),
        },
        tools: [
          {
            name: 'refund',
            requiresConfirmation: true,
            execute: async () => {
              refunds.push(by)
              if (hang) await new Promise(() => {})
              return 'refunded'
            },
          },
        ],
      },
      conversation: {
        initial: 'idle',
        states: { idle: { on: { start: 'active' } }, active: { on: { stop: 'idle' } } },
        routes: [
          commandRoute({ id: 'start', event: 'start', command: '/start', response: () => 'started' }),
          commandRoute({ id: 'stop', event: 'stop', command: '/stop', response: () => 'stopped' }),
        ],
      },
    }),
  })
}

const texts = (rejoin: Rejoin) =>
  rejoin
    .messages(SESSION)
    .get()
    .map((message) => message.content)
const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 8000, interval: 20 })
/** What the chat says and stores follows `send`; a transcript of its own shows when it is done. */
async function say(chat: ConnectedChat, text: string): Promise<void> {
  await chat.controller.send(text)
  await eventually(() => expect(chat.controller.getState().status).not.toBe('streaming'))
  await chat.session.persist()
}

async function synced(rejoin: Rejoin): Promise<void> {
  await rejoin.messages(SESSION).whenStored()
  await eventually(() => expect(rejoin.status.get()).toMatchObject({ state: 'synced' }))
}

test('G5 a chat written on one device is there on the other, with its state', async () => {
  const a = await laptop.open()
  const chatA = await chatOn(a, 'laptop')
  await say(chatA, 'hi')
  await say(chatA, '/start')
  await synced(a)
  const b = await phone.open()
  const chatB = await chatOn(b, 'phone')
  expect(texts(b)).toEqual(['hi', 'Hello from laptop. Bye.', '/start', 'started'])
  expect(chatB.session.getConversationSnapshot()?.state).toBe('active')
  await say(chatB, '/stop')
  await eventually(() => expect(texts(a)).toEqual(texts(b)))
  await eventually(() => expect(chatA.session.getConversationSnapshot()?.state).toBe('idle'))
})

test('G1 G2 F1 both offline, both approve: one refund runs, the other device learns who decided', async () => {
  const a = await laptop.open()
  const chatA = await chatOn(a, 'laptop')
  const record = await chatA.confirmation.propose({ name: 'refund', input: { euros: 25 } })
  await synced(a)
  const b = await phone.open()
  const chatB = await chatOn(b, 'phone')
  expect(chatB.session.getConfirmations()).toMatchObject([{ token: record.token, status: 'pending' }])

  laptop.goOffline()
  phone.goOffline()
  await expect(chatA.confirmation.approve(record.token, SESSION)).rejects.toMatchObject({ code: 'claim-queued' })
  await expect(chatB.confirmation.approve(record.token, SESSION)).rejects.toMatchObject({ code: 'claim-queued' })
  expect(refunds).toEqual([])
  laptop.goOnline()
  await eventually(() => expect(refunds).toEqual(['laptop']))
  await eventually(() => expect(chatA.session.getConfirmations()).toMatchObject([{ status: 'approved' }]))
  phone.goOnline()
  await eventually(() => expect(chatB.session.getConfirmations()).toMatchObject([{ status: 'approved' }]))
  expect(b.claims.get()).toMatchObject([{ token: record.token, mine: false, label: 'laptop' }])
  expect(refunds).toEqual(['laptop'])

  const next = await chatB.confirmation.propose({ name: 'refund', input: { euros: 5 } })
  await expect(chatB.confirmation.approve(next.token, SESSION)).resolves.toMatchObject({ status: 'approved' })
  expect(refunds).toEqual(['laptop', 'phone'])
  await synced(b)
  await synced(a)
})

test('K1 a confirmation that never left the device is decided offline, and told later', async () => {
  const a = await laptop.open()
  laptop.goOffline()
  const chatA = await chatOn(a, 'laptop')
  const record = await chatA.confirmation.propose({ name: 'refund', input: { euros: 25 } })
  await expect(chatA.confirmation.approve(record.token, SESSION)).resolves.toMatchObject({ status: 'approved' })
  expect(refunds).toEqual(['laptop'])
  laptop.goOnline()
  await synced(a)
  const b = await phone.open()
  const chatB = await chatOn(b, 'phone')
  expect(chatB.session.getConfirmations()).toMatchObject([{ token: record.token, status: 'approved' }])
})

test('I2 G5 two devices that made the same session offline keep both histories', async () => {
  const a = await laptop.open()
  const b = await phone.open()
  laptop.goOffline()
  phone.goOffline()
  const chatA = await chatOn(a, 'laptop')
  const chatB = await chatOn(b, 'phone')
  await say(chatA, '/start')
  await say(chatB, 'hello')
  laptop.goOnline()
  await synced(a)
  phone.goOnline()
  await synced(b)
  await eventually(() => expect(texts(a)).toEqual(texts(b)))
  expect(texts(a).toSorted()).toEqual(['/start', 'Hello from phone. Bye.', 'hello', 'started'].toSorted())
  await eventually(() => expect(chatB.session.getConversationSnapshot()?.state).toBe('active'))
})

test('F2 a lost answer to a claim: the device that won learns it, and the refund runs once', async () => {
  const a = await laptop.open()
  const chatA = await chatOn(a, 'laptop')
  const record = await chatA.confirmation.propose({ name: 'refund', input: { euros: 25 } })
  await synced(a)
  laptop.loseReplies('/claims/')
  await expect(chatA.confirmation.approve(record.token, SESSION)).rejects.toMatchObject({ code: 'claim-queued' })
  const b = await phone.open()
  const chatB = await chatOn(b, 'phone')
  await expect(chatB.confirmation.approve(record.token, SESSION)).resolves.toMatchObject({ status: 'approving' })
  laptop.loseReplies(undefined)
  laptop.goOnline()
  await eventually(() => expect(refunds).toEqual(['laptop']))
  await eventually(() => expect(chatB.session.getConfirmations()).toMatchObject([{ status: 'approved' }]))
})

test('R4 a snapshot whose answer was lost does not conflict with the next save of the same device', async () => {
  const a = await laptop.open()
  const chatA = await chatOn(a, 'laptop')
  await say(chatA, '/start')
  await synced(a)
  laptop.loseReplies('/v1/')
  await say(chatA, '/stop')
  await eventually(() => expect(a.status.get().state).toBe('offline'))
  await say(chatA, '/start')
  laptop.loseReplies(undefined)
  laptop.goOnline()
  await synced(a)
  expect(a.attention.get()).toEqual([])
  const b = await phone.open()
  const chatB = await chatOn(b, 'phone')
  expect(chatB.session.getConversationSnapshot()?.state).toBe('active')
  expect(texts(b)).toEqual(['/start', 'started', '/stop', 'stopped', '/start', 'started'])
})

test('K8 G2 a run whose tab died is listed for a person, and runs again only after a release', async () => {
  const a = await laptop.open()
  const chatA = await chatOn(a, 'laptop')
  const record = await chatA.confirmation.propose({ name: 'refund', input: { euros: 25 } })
  await synced(a)
  hang = true
  chatA.confirmation.approve(record.token, SESSION).catch(() => {})
  await eventually(() => expect(refunds).toEqual(['laptop']))
  await a.close()

  const again = await laptop.open()
  await eventually(() => expect(again.attention.get()).toMatchObject([{ kind: 'claim', token: record.token }]))
  const b = await phone.open()
  const chatB = await chatOn(b, 'phone')
  expect(chatB.session.getConfirmations()).toMatchObject([{ status: 'approving' }])

  const [item] = again.attention.get()
  if (item?.kind !== 'claim') throw new Error('No claim is listed.')
  await again.attention.release(item.claimId, 'The counter shows no refund.')
  await eventually(() => expect(chatB.session.getConfirmations()).toMatchObject([{ status: 'pending' }]))
  hang = false
  await chatB.confirmation.approve(record.token, SESSION)
  expect(refunds).toEqual(['laptop', 'phone'])
  await eventually(() => expect(again.attention.get()).toEqual([]))
})

test('G8 F57 a session deleted elsewhere does not come back, and what was unsynced is offered', async () => {
  const a = await laptop.open()
  const chatA = await chatOn(a, 'laptop')
  await say(chatA, '/start')
  await synced(a)
  const b = await phone.open()
  const chatB = await chatOn(b, 'phone')
  phone.goOffline()
  await say(chatB, 'an edit that nobody saw')
  chatA.close()
  await a.storage.delete?.(SESSION)
  await eventually(() => expect(a.status.get()).toMatchObject({ state: 'synced' }))
  phone.goOnline()
  await eventually(() => expect(b.attention.get()).toMatchObject([{ kind: 'deleted', sessionId: SESSION }]))
  await b.attention.discard(SESSION)
  await eventually(() => expect(b.sessions.get()).toEqual([]))
  const feed = await (await fetch(`${server.url}/v1/sessions?since=0`, { headers: { 'rejoin-device': 'test' } })).json()
  expect(feed).toMatchObject({ items: [{ sessionId: SESSION, deleted: true }] })
})

test('F9 approve in one tab and reject in another: one decision stands in both', async () => {
  const a = await laptop.open()
  const second = await laptop.open()
  const chatA = await chatOn(a, 'laptop')
  const record = await chatA.confirmation.propose({ name: 'refund', input: { euros: 25 } })
  const chatB = await chatOn(second, 'second tab')
  await Promise.allSettled([
    chatA.confirmation.approve(record.token, SESSION),
    chatB.confirmation.reject(record.token, SESSION),
  ])
  const settled = /approved|rejected/
  await eventually(() => expect(chatA.session.getConfirmations()[0]?.status).toMatch(settled))
  const status = chatA.session.getConfirmations()[0]?.status
  await eventually(() => expect(chatB.session.getConfirmations()).toMatchObject([{ status }]))
  expect(refunds.length).toBe(status === 'approved' ? 1 : 0)
})

test('G11 without a server: two tabs share everything, and nothing waits for a network', async () => {
  const alone = createTestDevice('alone', undefined)
  const a = await alone.open()
  const b = await alone.open()
  const chatA = await chatOn(a, 'first tab')
  await say(chatA, '/start')
  const record = await chatA.confirmation.propose({ name: 'refund', input: {} })
  const chatB = await chatOn(b, 'second tab')
  expect(texts(b).slice(0, 2)).toEqual(['/start', 'started'])
  expect(chatB.session.getConversationSnapshot()?.state).toBe('active')
  await expect(chatB.confirmation.approve(record.token, SESSION)).resolves.toMatchObject({ status: 'approved' })
  await eventually(() => expect(chatA.session.getConfirmations()).toMatchObject([{ status: 'approved' }]))
  expect(refunds).toEqual(['second tab'])
  expect(a.status.get()).toMatchObject({ state: 'local' })
  await alone.close()
  expect(alone.errors).toEqual([])
})

test('T1 F44 of two devices that ask for the turn one gets it, and the other after it was released', async () => {
  const a = await laptop.open()
  const chatA = await chatOn(a, 'laptop')
  await say(chatA, '/start')
  await synced(a)
  const b = await phone.open()
  const chatB = await chatOn(b, 'phone')
  expect(await chatA.session.claimTurn('turn-a', 20_000)).toBe(true)
  const asked = await Promise.allSettled([chatB.session.claimTurn('turn-b', 20_000)])
  expect(asked).not.toMatchObject([{ status: 'fulfilled', value: true }])
  await chatA.session.releaseTurn('turn-a', 'completed')
  await eventually(async () => expect(await chatB.session.claimTurn('turn-c', 20_000)).toBe(true))
  await chatB.session.releaseTurn('turn-c', 'completed')
  await synced(a)
  await synced(b)
})

test('F6 F7 a decision that reaches the server after its time is refused as expired', async () => {
  const a = await laptop.open()
  const chatA = await chatOn(a, 'laptop')
  const session = chatA.session.createConfirmation({ chat: chatA.controller, ttlMs: 800 })
  const record = await session.propose({ name: 'refund', input: { euros: 25 } })
  await synced(a)
  laptop.goOffline()
  await expect(session.approve(record.token, SESSION)).rejects.toMatchObject({ code: 'claim-queued' })
  await eventually(() => expect(Date.now()).toBeGreaterThan(record.expiresAt))
  laptop.goOnline()
  await eventually(() => expect(chatA.session.getConfirmations()).toMatchObject([{ status: 'expired' }]))
  expect(refunds).toEqual([])
  expect(a.claims.get()).toMatchObject([{ state: 'expired' }])
})

test('K8 a run that fails is listed for a person at once, in the tab that ran it', async () => {
  const a = await laptop.open()
  const chatA = await chatOn(a, 'laptop')
  const record = await chatA.confirmation.propose({ name: 'refund', input: { euros: 25 } })
  const failing = chatA.session.createConfirmation({
    chat: {
      ...chatA.controller,
      getState: chatA.controller.getState,
      approve: () => Promise.reject(new Error('the line broke')),
    },
  })
  await expect(failing.approve(record.token, SESSION)).rejects.toThrow('the line broke')
  await eventually(() => expect(a.attention.get()).toMatchObject([{ kind: 'claim', token: record.token }]))
  const [item] = a.attention.get()
  if (item?.kind !== 'claim') throw new Error('No claim is listed.')
  await a.attention.release(item.claimId)
  await eventually(() => expect(chatA.session.getConfirmations()).toMatchObject([{ status: 'pending' }]))
  await chatA.confirmation.approve(record.token, SESSION)
  expect(refunds).toEqual(['laptop'])
})
