import { isRejoinError, type Rejoin } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  createTestServer,
  deskChat,
  eventually,
  type Refunds,
  SESSION,
  say,
  synced,
  type TestServer,
  texts,
} from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let server: TestServer
let laptop: TestDevice
let phone: TestDevice
const refunds: Refunds = { ran: new Map(), during: async () => {} }

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

interface Refusal {
  relents: boolean
  /** How often it was asked for that. */
  asked: number
  /** How many live sockets were tried. */
  sockets: number
}

/**
 * A laptop whose server refuses `method` on what ends with `part`, for good, until it relents. Its live sockets lead
 * nowhere.
 */
async function openRefused(method: string, part: string): Promise<{ a: Rejoin; refusal: Refusal }> {
  const refusal: Refusal = { relents: false, asked: 0, sockets: 0 }
  const { environment } = laptop
  const nowhere = class extends environment.WebSocket {
    constructor(_url: string | URL, protocols?: string | string[]) {
      super('ws://127.0.0.1:9', protocols)
      refusal.sockets++
    }
  }
  const a = await laptop.open({
    environment: {
      ...environment,
      WebSocket: nowhere,
      async fetch(input, init) {
        const meant = init?.method === method && new URL(String(input)).pathname.endsWith(part)
        if (meant) refusal.asked++
        if (!meant || refusal.relents) return environment.fetch(input, init)
        const problem = { code: 'forbidden', message: 'You may not write here.', retryable: false, at: Date.now() }
        return new Response(JSON.stringify(problem), { status: 403 })
      },
    },
  })
  return { a, refusal }
}

/** The phone does something, and the laptop looks at the feed again. */
async function hearOfPhone(a: Rejoin): Promise<Rejoin> {
  const b = await phone.open()
  await say(await deskChat(b, 'phone', refunds, { sessionId: 'other' }), 'something to hear of')
  await synced(b, 'other')
  a.retryNow()
  await eventually(() =>
    expect(a.sessions.get()).toContainEqual(
      expect.objectContaining({ sessionId: 'other', updatedAt: expect.any(String) }),
    ),
  )
  return b
}

const forbidden = { kind: 'refused', sessionId: SESSION, problem: { code: 'forbidden' } }

test('G9 F20 messages that the server refuses for good are listed and not sent again before a person asks for it', async () => {
  const { a, refusal } = await openRefused('POST', '/updates')
  const chat = await deskChat(a, 'laptop', refunds)
  await say(chat, 'hello')
  await eventually(() => expect(a.attention.get()).toMatchObject([forbidden]))
  await say(chat, '/start')
  const b = await hearOfPhone(a)
  expect(a.attention.get()).toMatchObject([forbidden])
  expect(a.status.get()).toMatchObject({ state: 'syncing', refused: 1, unsent: { messages: 1 } })
  expect(refusal.asked).toBe(1)
  refusal.relents = true
  await a.attention.retry(SESSION)
  await synced(a)
  expect(a.attention.get()).toEqual([])
  await deskChat(b, 'phone', refunds)
  expect(texts(b)).toEqual(texts(a))
})

test('G9 F20 a session whose messages are refused has no live socket, which would send them, until a person asks', async () => {
  const { a, refusal } = await openRefused('POST', '/updates')
  refusal.relents = true
  const chat = await deskChat(a, 'laptop', refunds)
  await say(chat, 'hello')
  await synced(a)
  await eventually(() => expect(refusal.sockets).toBeGreaterThan(0))
  refusal.relents = false
  await say(chat, 'again')
  await eventually(() => expect(a.attention.get()).toMatchObject([forbidden]))
  const before = refusal.sockets
  await hearOfPhone(a)
  expect(refusal.sockets).toBe(before)
  refusal.relents = true
  await a.attention.retry(SESSION)
  await eventually(() => expect(refusal.sockets).toBeGreaterThan(before))
  await synced(a)
})

test('G9 I3 a deletion that the server refuses for good is listed and not sent again before a person asks for it', async () => {
  const { a, refusal } = await openRefused('DELETE', SESSION)
  const chat = await deskChat(a, 'laptop', refunds)
  await say(chat, 'hello')
  await synced(a)
  chat.close()
  await a.storage.delete?.(SESSION)
  await eventually(() => expect(a.attention.get()).toMatchObject([forbidden]))
  const b = await hearOfPhone(a)
  expect(a.status.get()).toMatchObject({ state: 'syncing', refused: 1, unsent: { snapshots: 0 } })
  expect(refusal.asked).toBe(1)
  refusal.relents = true
  await a.attention.retry(SESSION)
  await eventually(() => expect(a.status.get().state).toBe('synced'))
  expect(a.attention.get()).toEqual([])
  b.retryNow()
  await eventually(() => expect(b.sessions.get()).toMatchObject([{ sessionId: 'other' }]))
})
