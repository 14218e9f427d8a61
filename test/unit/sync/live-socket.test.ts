import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SignJWT } from 'jose'
import { startServer } from 'rejoin-server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import * as Y from 'yjs'
import { CLOSE_CODES } from '../../../src/protocol/close-codes.ts'
import { MAX_FRAME_BYTES } from '../../../src/protocol/limits.ts'
import { BEARER_PREFIX, SUBPROTOCOL } from '../../../src/protocol/paths.ts'
import { SIGNAL_FRAME } from '../../../src/protocol/signal.ts'
import type { AccessToken } from '../../../src/sync/access-token.ts'
import { openLiveSocket } from '../../../src/sync/live-socket.ts'
import type { LiveSocketsOptions } from '../../../src/sync/open-live-sockets.ts'
import { encodeStep1 } from '../../../sync-server/src/room-frames.ts'
import { createTestServer, deskChat, eventually, type Refunds, say, synced, type TestServer, texts } from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

const refunds: Refunds = { ran: new Map(), during: async () => {} }
let server: TestServer
let laptop: TestDevice
let phone: TestDevice

beforeEach(async () => {
  server = await createTestServer()
  laptop = createTestDevice('laptop', server.url)
  phone = createTestDevice('phone', server.url)
})

afterEach(async () => {
  await Promise.all([laptop.close(), phone.close()])
  await server.end()
  expect([...laptop.errors, ...phone.errors]).toEqual([])
})

interface Traffic {
  readonly largestFrame: number
  readonly edits: number
  readonly closeCodes: readonly number[]
}

/** The device's environment, with its sockets watched, and led to another address. */
function watched({ environment }: TestDevice, leadTo = (url: string) => url) {
  const traffic = { largestFrame: 0, edits: 0, closeCodes: [] as number[] }
  const WebSocket = class extends environment.WebSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(leadTo(String(url)), protocols)
      this.addEventListener('close', ({ code }) => traffic.closeCodes.push(code))
    }
    override send(data: Parameters<WebSocket['send']>[0]): void {
      if (data instanceof Uint8Array) {
        traffic.largestFrame = Math.max(traffic.largestFrame, data.length)
        if (data[0] === 0 && data[1] !== 0) traffic.edits++
      }
      super.send(data)
    }
  }
  return { environment: { ...environment, WebSocket }, traffic: traffic as Traffic }
}

test('G10 a socket of another account is told nothing, and sync stops with the reason', async () => {
  const other = await startServer({ port: 0, file: ':memory:', account: 'somebody-else' })
  const at = (url: string) => url.replace(server.url.replace('http', 'ws'), other.url.replace('http', 'ws'))
  const { environment, traffic } = watched(laptop, at)
  const a = await laptop.open({ environment })
  const chat = await deskChat(a, 'laptop', refunds)
  await say(chat, 'a secret')
  await eventually(() =>
    expect(a.status.get()).toMatchObject({
      state: 'error',
      code: 'refused',
      reason: expect.stringContaining('somebody-else'),
    }),
  )
  expect(traffic.edits).toBe(0)
  const feed = await fetch(`${other.url}/v1/sessions?since=0`, { headers: { 'rejoin-device': 'test' } })
  expect(await feed.json()).toMatchObject({ head: 0 })
  await other.close()
})

test('G10 a socket of another account on the very same server is told nothing either', async () => {
  const secret = 'a secret that only this test and its server know'
  const shared = await createTestServer({ jwtSecret: secret })
  const token = (account: string) =>
    new SignJWT({ account, sub: 'somebody', exp: Math.floor(Date.now() / 1000) + 600 })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new TextEncoder().encode(secret))
  const [ours, theirs] = await Promise.all([token('test'), token('somebody-else')])
  const device = createTestDevice('tablet', shared.url)
  const { environment, traffic } = watched(device)
  // Somebody else signed in between a request and the socket.
  const WebSocket = class extends environment.WebSocket {
    constructor(url: string | URL) {
      super(url, [SUBPROTOCOL, BEARER_PREFIX + theirs])
    }
  }
  const a = await device.open({ token: ours, environment: { ...environment, WebSocket } })
  const chat = await deskChat(a, 'tablet', refunds)
  await say(chat, 'a secret')
  await eventually(() =>
    expect(a.status.get()).toMatchObject({
      state: 'error',
      code: 'refused',
      reason: expect.stringContaining('somebody-else'),
    }),
  )
  expect(traffic.edits).toBe(0)
  const headers = { 'rejoin-device': 'test', authorization: `Bearer ${theirs}` }
  expect(await (await fetch(`${shared.url}/v1/sessions?since=0`, { headers })).json()).toMatchObject({ head: 0 })
  await device.close()
  await shared.end()
})

/** A server whose rooms only say who came, and a device whose session has the incarnations that it is told to have. */
async function watchRooms(incarnations: { row: string; document: string }, token?: AccessToken) {
  const rooms: string[] = []
  /** The document's incarnation each time that the socket was about to join. */
  const looks: string[] = []
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => SUBPROTOCOL })
  await once(sockets, 'listening')
  const { port } = sockets.address() as AddressInfo
  sockets.on('connection', (_socket, { url }) => rooms.push(String(url).split('/').at(-1) ?? ''))
  const { environment } = createTestDevice('tablet', undefined)
  const refusals: number[] = []
  const errors: unknown[] = []
  const document = {
    doc: new Y.Doc(),
    ended: new AbortController().signal,
    addServerOrigin: () => () => {},
    get incarnation() {
      return incarnations.document
    },
  }
  const open = () =>
    openLiveSocket('s1', {
      serverUrl: `http://127.0.0.1:${port}`,
      device: 'tablet',
      token,
      environment,
      documents: { open: async () => document },
      async position() {
        looks.push(incarnations.document)
        return { incarnation: incarnations.row, pulled: 0, confirmed: true }
      },
      epoch: () => undefined,
      onRefused: (_sessionId: string, code: number) => refusals.push(code),
      onError: (error: unknown) => errors.push(error),
    } as unknown as LiveSocketsOptions)
  return { rooms, looks, refusals, errors, sockets, open }
}

test('I2 a room that is refused after the session took another incarnation is left for the room of that one', async () => {
  const incarnations = { row: 'i1', document: 'i1' }
  const { rooms, refusals, errors, sockets, open } = await watchRooms(incarnations)
  sockets.once('connection', (socket) => {
    Object.assign(incarnations, { row: 'i2', document: 'i2' })
    socket.close(CLOSE_CODES.otherIncarnation)
  })
  const socket = open()
  await eventually(() => expect(rooms).toEqual(['s1@i1', 's1@i2']))
  for (const each of sockets.clients) each.close(CLOSE_CODES.otherIncarnation)
  await eventually(() => expect(refusals).toEqual([CLOSE_CODES.otherIncarnation]))
  expect(rooms).toHaveLength(2)
  expect(errors).toEqual([])
  socket.close()
  sockets.close()
})

test('I2 a document joins no room of another incarnation than its own: it waits until it has heard of it', async () => {
  const incarnations = { row: 'i2', document: 'i1' }
  const { rooms, looks, errors, sockets, open } = await watchRooms(incarnations)
  const socket = open()
  await eventually(() => expect(looks.length).toBeGreaterThan(2))
  expect(rooms).toEqual([])
  incarnations.document = 'i2'
  await eventually(() => expect(rooms).toEqual(['s1@i2']))
  expect(errors).toEqual([])
  socket.close()
  sockets.close()
})

test('G10 a socket that was not welcomed is told who we are and nothing else, whatever it asks for', async () => {
  const silent = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => SUBPROTOCOL })
  const frames: Uint8Array[] = []
  silent.on('connection', (socket) => {
    socket.send(encodeStep1(Uint8Array.of(0)))
    socket.on('message', (data: Buffer) => frames.push(new Uint8Array(data)))
  })
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const { environment } = watched(laptop, (url) => url.replace(/:\d+/, `:${port}`))
  const a = await laptop.open({ environment })
  const chat = await deskChat(a, 'laptop', refunds)
  await say(chat, '/start')
  await eventually(() => expect(frames.length).toBeGreaterThan(0))
  await say(chat, 'a secret')
  await synced(a)
  expect(frames.map(([type]) => type)).toEqual(frames.map(() => SIGNAL_FRAME))
  await laptop.close()
  silent.close()
})

test('I5 a socket that comes back to a restored server is enough to give everything back', async () => {
  const a = await laptop.open()
  const chat = await deskChat(a, 'laptop', refunds)
  await say(chat, 'before')
  await synced(a)
  await server.backUp()
  laptop.goOnline()
  await say(chat, '/start')
  await synced(a)
  // Nobody tells the device: it has the close of its socket, and the welcome of the next one.
  await server.restore()
  const b = await phone.open()
  const chatB = await deskChat(b, 'phone', refunds)
  await eventually(() => expect(texts(b)).toEqual(texts(a)))
  await eventually(() => expect(chatB.session.getConversationSnapshot()?.state).toBe('active'))
})

test('G4 F66 a document above a frame goes by HTTP in pieces, and its socket stays open and works on', async () => {
  const { environment, traffic } = watched(laptop)
  const a = await laptop.open({ environment })
  const answer = Array.from({ length: 60 }, (_, at) => `${at} ${'words '.repeat(5000)}`)
  const chat = await deskChat(a, 'laptop', refunds, { answer })
  await say(chat, '/start')
  await synced(a)
  laptop.goOffline()
  await say(chat, 'a long answer')
  const cuts = traffic.closeCodes.length
  laptop.goOnline()
  await synced(a)

  const b = await phone.open()
  const chatB = await deskChat(b, 'phone', refunds)
  await eventually(() => expect(texts(b)).toEqual(texts(a)))
  await say(chatB, '/stop')
  await eventually(() => expect(texts(a)).toEqual(texts(b)))
  await say(chat, '/start')
  await synced(a)
  await eventually(() => expect(texts(b)).toEqual(texts(a)))
  expect(traffic.largestFrame).toBeLessThanOrEqual(MAX_FRAME_BYTES)
  expect(traffic.closeCodes.slice(cuts)).toEqual([])
})

test('G4 F66 one message above a frame, written online, is cut and arrives; what follows goes by the socket again', async () => {
  const { environment, traffic } = watched(laptop)
  const a = await laptop.open({ environment })
  const b = await phone.open()
  const chat = await deskChat(a, 'laptop', refunds)
  await say(chat, '/start')
  await synced(a)
  const chatB = await deskChat(b, 'phone', refunds)
  await say(chat, 'a long text, '.repeat(200_000))
  await synced(a)
  await eventually(() => expect(texts(b)).toEqual(texts(a)))
  await say(chat, '/stop')
  await synced(a)
  const edits = traffic.edits
  await say(chat, '/start')
  await eventually(() => expect(traffic.edits).toBeGreaterThan(edits))
  await eventually(() => expect(chatB.session.getConversationSnapshot()?.state).toBe('active'))
  expect(texts(b)).toEqual(texts(a))
  expect(traffic.largestFrame).toBeLessThanOrEqual(MAX_FRAME_BYTES)
  expect(traffic.closeCodes).toEqual([])
})

test('F63 a room is joined as soon as there is an access token, however often there was none', async () => {
  let asked = 0
  const token = async () => {
    if (++asked <= 3) throw new Error('signed out for a moment')
    return 'signed'
  }
  const { rooms, errors, sockets, open } = await watchRooms({ row: 'i1', document: 'i1' }, token)
  const socket = open()
  await eventually(() => expect(rooms).toEqual(['s1@i1']))
  expect(errors.map(String)).toEqual(Array(3).fill('Error: signed out for a moment'))
  socket.close()
  sockets.close()
})
