import { isRejoinError } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ChatMemory } from '../../../src/contract/chat-memory.ts'
import { message } from '../messages/tabs.ts'
import { createTestServer, deskChat, eventually, SESSION, say, synced, type TestServer, texts } from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let server: TestServer
let laptop: TestDevice
let phone: TestDevice
const refunds = { ran: new Map(), during: async () => {} }

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

test('H6 G8 a chat that is cleared after its session was deleted begins nothing, and its id is free for another', async () => {
  const a = await laptop.open()
  const chat = await deskChat(a, 'laptop', refunds)
  await say(chat, 'hi')
  await synced(a)
  await a.storage.delete?.(SESSION)
  await chat.controller.clear()
  chat.close()
  await eventually(() => expect(a.sessions.get()).toEqual([]))

  const next = await deskChat(a, 'laptop', refunds)
  expect(texts(a)).toEqual([])
  await say(next, '/start')
  await synced(a)
  const b = await phone.open()
  const chatB = await deskChat(b, 'phone', refunds)
  expect(texts(b)).toEqual(['/start', 'started'])
  expect(chatB.session.getConversationSnapshot()?.state).toBe('active')
})

test.each([
  ['clear, save of nothing', (memory: Required<ChatMemory>) => [memory.clear(), memory.save([])]],
  ['save of nothing, clear', (memory: Required<ChatMemory>) => [memory.save([]), memory.clear()]],
])('H6 a memory whose session was deleted takes a %s, and what the next one saves stays', async (_order, end) => {
  const a = await laptop.open()
  const memory = a.memory(SESSION) as Required<ChatMemory>
  await memory.save([message('u1', 'of the old one')])
  await synced(a)
  await a.storage.delete?.(SESSION)
  await Promise.all(end(memory))
  expect(a.sessions.get()).toEqual([])

  expect(await memory.load()).toEqual([])
  await memory.save([message('u2', 'of the next one')])
  // The queue of a chat that was closed may still hold one.
  await memory.save([])
  await synced(a)
  const b = await phone.open()
  expect((await b.memory(SESSION).load()).map(({ content }) => content)).toEqual(['of the next one'])
})
