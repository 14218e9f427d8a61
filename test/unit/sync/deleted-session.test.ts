import { createChatSession, isRejoinError, type Rejoin } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Snapshot } from '../../../src/contract/session-snapshot.ts'
import { createTestServer, deskChat, eventually, SESSION, say, synced, type TestServer, texts } from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let server: TestServer
let laptop: TestDevice
let phone: TestDevice
const refunds = { ran: new Map(), during: async () => {} }
const definition = {
  id: 'desk',
  chat: { adapter: { createSource: () => ({ stream: async function* () {}, abort() {} }) } },
}

beforeEach(async () => {
  server = await createTestServer()
  laptop = createTestDevice('laptop', server.url)
  phone = createTestDevice('phone', server.url)
})

afterEach(async () => {
  await Promise.all([laptop.close(), phone.close()])
  await server.end()
  const errors = [...laptop.errors, ...phone.errors]
  expect(errors.filter((error) => !isRejoinError(error, 'closed') && !isRejoinError(error, 'deleted'))).toEqual([])
})

async function deletedElsewhere(whileOffline: (chat: Awaited<ReturnType<typeof deskChat>>) => Promise<void>) {
  const a = await laptop.open()
  const chatA = await deskChat(a, 'laptop', refunds)
  await say(chatA, 'hi')
  await synced(a)
  const b = await phone.open()
  const chatB = await deskChat(b, 'phone', refunds)
  phone.goOffline()
  await whileOffline(chatB)
  chatA.close()
  await a.storage.delete?.(SESSION)
  await eventually(() => expect(a.status.get()).toMatchObject({ state: 'synced' }))
  phone.goOnline()
  return { a, b, chatB }
}

/** Made by the phone after the deletion, in the tab that had the old one; the laptop gets it as any other. */
async function beginsAnew(a: Rejoin, b: Rejoin): Promise<void> {
  const anew = await deskChat(b, 'phone', refunds)
  await say(anew, 'a new beginning')
  await synced(b)
  // The laptop follows no session that it deleted: the feed tells it.
  a.retryNow()
  await eventually(() => expect(a.sessions.get()).toMatchObject([{ sessionId: SESSION, updatedAt: expect.anything() }]))
  const chatA = await deskChat(a, 'laptop', refunds)
  expect(texts(a)).toEqual(['a new beginning', 'Hello from phone. Bye.'])
  await say(chatA, '/start')
  await eventually(() => expect(anew.session.getConversationSnapshot()?.state).toBe('active'))
  expect(b.attention.get()).toEqual([])
}

test('G8 I1 an id whose deleted session still holds unsynced work says what to do, and is free after a discard', async () => {
  const { a, b, chatB } = await deletedElsewhere((chat) => say(chat, 'an edit that nobody saw'))
  await eventually(() => expect(b.attention.get()).toMatchObject([{ kind: 'deleted', sessionId: SESSION }]))
  chatB.close()
  const advice = { code: 'deleted', hint: expect.stringContaining('discard') }
  const session = createChatSession(definition, { sessionId: SESSION, storage: b.storage })
  await expect(session.persist()).rejects.toMatchObject(advice)
  await expect(deskChat(b, 'phone', refunds)).rejects.toMatchObject(advice)
  expect(b.attention.get()).toMatchObject([{ kind: 'deleted', sessionId: SESSION }])

  await b.attention.discard(SESSION)
  await beginsAnew(a, b)
  session.close()
})

test('G8 I3 an id whose session was deleted elsewhere with nothing unsynced is free at once, also in a tab that had it', async () => {
  const { a, b, chatB } = await deletedElsewhere(async () => {})
  await eventually(() => expect(b.sessions.get()).toEqual([]))
  chatB.close()
  await beginsAnew(a, b)
})

test('I3 K4 a click in a session that was deleted elsewhere meanwhile is a conflict, and waits for nobody', async () => {
  const a = await laptop.open()
  const chatA = await deskChat(a, 'laptop', refunds)
  const { token } = await chatA.confirmation.propose({ name: 'refund', input: { id: '1' } })
  await synced(a)
  const { fetch } = phone.environment
  const b = await phone.open({
    environment: {
      ...phone.environment,
      async fetch(input, init) {
        // The last moment: the click is on its way.
        if (String(input).includes('/claims/')) await removeOnLaptop()
        return fetch(input, init)
      },
    },
  })
  await deskChat(b, 'phone', refunds)
  const known = (await b.storage.load(SESSION)) as Snapshot
  const confirmations = known.confirmations.map((each) => ({ ...each, status: 'approving' as const }))
  expect(confirmations).toMatchObject([{ token }])
  expect(await b.storage.save({ ...known, cursor: known.cursor + 1, confirmations }, known.cursor)).toBe(false)
  expect(await b.storage.load(SESSION)).toBeUndefined()
  await eventually(() => expect(b.claims.get()).toEqual([]))

  async function removeOnLaptop(): Promise<void> {
    chatA.close()
    await a.storage.delete?.(SESSION)
    await eventually(() => expect(a.status.get()).toMatchObject({ state: 'synced' }))
  }
})
