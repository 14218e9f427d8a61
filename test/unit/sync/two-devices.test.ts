import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { commandRoute, defineChat, type Rejoin } from 'rejoin'
import { startServer } from 'rejoin-server'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type ConnectedChat, connectChat } from '../../../demo/src/connect-chat.ts'
import { createTestDevice, type TestDevice } from './device.ts'

const SESSION = 'order-1'
let folder: string
let server: Awaited<ReturnType<typeof startServer>>
let laptop: TestDevice
let phone: TestDevice
let refunds: string[]

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'rejoin-'))
  server = await startServer({ port: 0, file: path.join(folder, 'data.sqlite'), account: 'test' })
  laptop = createTestDevice('laptop', server.url)
  phone = createTestDevice('phone', server.url)
  refunds = []
})

afterEach(async () => {
  await Promise.all([laptop.close(), phone.close()])
  await server.close()
  await rm(folder, { recursive: true, force: true })
  expect([...laptop.errors, ...phone.errors]).toEqual([])
})

function chatOn(rejoin: Rejoin, by: string, sessionId = SESSION): Promise<ConnectedChat> {
  return connectChat({
    rejoin,
    sessionId,
    define: (memory) =>
      defineChat({
        id: 'desk',
        chat: {
          memory,
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
  laptop.loseReplies(true)
  await expect(chatA.confirmation.approve(record.token, SESSION)).rejects.toMatchObject({ code: 'claim-queued' })
  const b = await phone.open()
  const chatB = await chatOn(b, 'phone')
  await expect(chatB.confirmation.approve(record.token, SESSION)).resolves.toMatchObject({ status: 'approving' })
  laptop.loseReplies(false)
  laptop.goOnline()
  await eventually(() => expect(refunds).toEqual(['laptop']))
  await eventually(() => expect(chatB.session.getConfirmations()).toMatchObject([{ status: 'approved' }]))
})

test('R4 a snapshot whose answer was lost does not conflict with the next save of the same device', async () => {
  const a = await laptop.open()
  const chatA = await chatOn(a, 'laptop')
  await say(chatA, '/start')
  await synced(a)
  laptop.loseReplies(true)
  await say(chatA, '/stop')
  await eventually(() => expect(a.status.get().state).toBe('offline'))
  await say(chatA, '/start')
  laptop.loseReplies(false)
  laptop.goOnline()
  await synced(a)
  expect(a.attention.get()).toEqual([])
  const b = await phone.open()
  const chatB = await chatOn(b, 'phone')
  expect(chatB.session.getConversationSnapshot()?.state).toBe('active')
  expect(texts(b)).toEqual(['/start', 'started', '/stop', 'stopped', '/start', 'started'])
})
