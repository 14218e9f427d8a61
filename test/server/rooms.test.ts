import { EventEmitter } from 'node:events'
import * as encoding from 'lib0/encoding'
import { createServer, type RejoinServer } from 'rejoin-server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import WebSocket from 'ws'
import type { Awareness } from 'y-protocols/awareness'
import { WebsocketProvider } from 'y-websocket'
import * as Y from 'yjs'
import { bytesToBase64 } from '../../src/protocol/base64.ts'
import { MAX_FRAME_BYTES } from '../../src/protocol/limits.ts'
import { encodeSignal } from '../../src/protocol/signal.ts'
import { createRelay } from '../../sync-server/src/relay.ts'
import { encodeStep1, encodeStep2, encodeUpdate } from '../../sync-server/src/room-frames.ts'
import { createSessionChanges } from '../../sync-server/src/session-changes.ts'
import type { Store } from '../../sync-server/src/store.ts'
import type { AppendOutcome } from '../../sync-server/src/update-log.ts'
import { type Ask, askBySocket } from './ask.ts'
import { craftUpdate, text } from './crafted-update.ts'
import { isStep1, isUpdate, joinRoom, type RoomClient } from './room-client.ts'
import { put, snapshot } from './sessions.ts'

let server: RejoinServer
let url = ''
let ask: Ask
const endings: (() => void)[] = []

beforeEach(async () => {
  server = await createServer({ account: 'acme', port: 0 })
  url = await server.listen()
  ask = askBySocket(url)
})
afterEach(async () => {
  for (const end of endings.splice(0)) end()
  await server.close()
})

async function join(room: string): Promise<RoomClient> {
  const client = await joinRoom(url, room)
  endings.push(client.close)
  return client
}

/** Joins as our own client does; resolves when it stands where the server stands. */
async function hello(room: string, since = 0, device = 'b') {
  const client = await join(room)
  client.signal({ kind: 'hello', version: 1, device, since })
  const welcome = await client.nextSignal('welcome')
  const changed = await client.nextSignal('changed')
  return { client, welcome, changed }
}

function stockClient(room: string, doc = new Y.Doc()): WebsocketProvider {
  const provider = new WebsocketProvider(`${url.replace(/^http/, 'ws')}/v1/rooms`, room, doc, {
    WebSocketPolyfill: WebSocket as unknown as typeof globalThis.WebSocket,
    disableBc: true,
  })
  endings.push(() => provider.destroy())
  return provider
}

const synced = (provider: WebsocketProvider) =>
  new Promise<void>((resolve) => {
    provider.on('sync', (isSynced: boolean) => {
      if (isSynced) resolve()
    })
  })

/** Resolves when the document's text reads `wanted`. */
const reads = (doc: Y.Doc, wanted: string) =>
  new Promise<void>((resolve) => {
    const look = () => {
      if (doc.getText('about').toString() === wanted) resolve()
    }
    doc.on('update', look)
    look()
  })

const postUpdate = (update: Uint8Array, device = 'a') =>
  ask('/v1/sessions/s1/updates', {
    method: 'POST',
    headers: { 'rejoin-device': device },
    body: { incarnation: 'i1', updates: [bytesToBase64(update)] },
  })

const one = craftUpdate({ clients: text(7, 0, 'one') })
const two = craftUpdate({ clients: text(7, 3, ' two') })

test('G5 stock y-websocket clients join a room, see each other edit, and a late one gets everything', async () => {
  const [left, right] = [stockClient('s1'), stockClient('s1')]
  await Promise.all([synced(left), synced(right)])
  left.doc.getText('about').insert(0, 'hello')
  await reads(right.doc, 'hello')
  right.doc.getText('about').insert(5, ' world')
  await reads(left.doc, 'hello world')
  const late = stockClient('s1')
  await synced(late)
  expect(late.doc.getText('about').toString()).toBe('hello world')
  expect((await ask('/v1/sessions/s1')).body.head).toBe(2)
})

test('F47 what a stock client wrote while it was away is stored when it comes back', async () => {
  const doc = new Y.Doc()
  doc.getText('about').insert(0, 'written offline')
  await synced(stockClient('s1', doc))
  const late = stockClient('s1')
  await reads(late.doc, 'written offline')
})

test('a stock client that has nothing to say makes no session', async () => {
  const client = await join('s1')
  client.send(encodeStep2(Uint8Array.of(0, 0)))
  client.signal({ kind: 'mark', n: 1 })
  await client.nextSignal('marked')
  expect((await ask('/v1/sessions/s1')).status).toBe(404)
})

test('who is there is passed on, and never stored', async () => {
  const [left, right] = [stockClient('s1'), stockClient('s1')]
  await Promise.all([synced(left), synced(right)])
  const seen = new Promise<void>((resolve) => {
    const awareness: Awareness = right.awareness
    awareness.on('change', () => {
      if ([...awareness.getStates().values()].some((state) => state.name === 'Ann')) resolve()
    })
  })
  left.awareness.setLocalStateField('name', 'Ann')
  await seen
  expect((await ask('/v1/sessions')).body.head).toBe(0)
})

test('R8 hello is answered with the log after since, then with where the session stands', async () => {
  await postUpdate(one)
  await postUpdate(two)
  const { body } = await ask('/v1/sessions/s1', {
    method: 'PUT',
    headers: { 'if-none-match': '*' },
    body: put('w1', snapshot(1)),
  })
  const { client, welcome, changed } = await hello('s1@i1', 1)
  expect(welcome).toMatchObject({
    version: 1,
    server: 'rejoin',
    account: 'acme',
    epoch: body.epoch,
    incarnation: 'i1',
    head: 2,
  })
  expect(client.frames.filter(isUpdate)).toEqual([{ kind: 'update', bytes: Buffer.from(two), answer: false }])
  expect(changed).toMatchObject({ head: 2, etag: body.etag })
})

test('since beyond the head brings nothing, and says where the log ends', async () => {
  await postUpdate(one)
  const { client, changed } = await hello('s1@i1', 99)
  expect(changed.head).toBe(1)
  expect(client.frames.some(isUpdate)).toBe(false)
})

test('G4 a mark is answered when everything before it is stored, also a deletion', async () => {
  const { client } = await hello('s1@i1')
  client.send(encodeUpdate(one))
  client.send(encodeUpdate(craftUpdate({ deletes: [{ client: 7, ranges: [[0, 3]] }] })))
  client.signal({ kind: 'mark', n: 5 })
  expect((await client.nextSignal('marked')).n).toBe(5)
  expect((await ask('/v1/sessions/s1')).body.head).toBe(2)
})

test('an update reaches the others and not its sender, and everybody who speaks signals hears where it stands', async () => {
  const a = await hello('s1@i1', 0, 'a')
  const b = await hello('s1@i1', 0, 'b')
  const stock = await join('s1')
  a.client.send(encodeUpdate(one))
  expect((await b.client.next(isUpdate)).kind).toBe('update')
  await stock.next(isUpdate)
  expect(await a.client.nextSignal('changed')).toMatchObject({ head: 1, etag: null })
  expect(await b.client.nextSignal('changed')).toMatchObject({ head: 1 })
  expect(a.client.frames.some(isUpdate)).toBe(false)
  expect(stock.frames.some(({ kind }) => kind === 'signal')).toBe(false)
})

test('what is written over HTTP reaches the room: updates, snapshots, claims and leases', async () => {
  const { client } = await hello('s1@i1')
  await postUpdate(one)
  await client.next(isUpdate)
  expect((await client.nextSignal('changed')).head).toBe(1)
  const headers = { 'if-none-match': '*' }
  const { body } = await ask('/v1/sessions/s1', { method: 'PUT', headers, body: put('w1', snapshot(1)) })
  expect(await client.nextSignal('changed')).toMatchObject({ head: 1, etag: body.etag })
  const turn = { op: 'take', incarnation: 'i1', turnId: 'turn1', leaseMs: 1000 }
  await ask('/v1/sessions/s1/turn', { method: 'PUT', body: turn })
  expect(await client.nextSignal('changed')).toMatchObject({ head: 1, etag: body.etag })
})

test('an update whose predecessors are missing asks for them, and its mark waits until they are there', async () => {
  const { client } = await hello('s1@i1')
  client.send(encodeUpdate(two))
  client.signal({ kind: 'mark', n: 1 })
  const { stateVector } = await client.next(isStep1)
  expect(Y.decodeStateVector(stateVector)).toEqual(new Map())
  client.signal({ kind: 'mark', n: 2 })
  expect((await ask('/v1/sessions/s1')).status).toBe(404)
  expect(client.frames.some((it) => it.kind === 'signal' && it.signal.kind === 'marked')).toBe(false)
  const doc = new Y.Doc()
  Y.applyUpdate(doc, one)
  Y.applyUpdate(doc, two)
  client.send(encodeStep2(Y.encodeStateAsUpdate(doc, stateVector)))
  expect([await client.nextSignal('marked'), await client.nextSignal('marked')].map(({ n }) => n)).toEqual([1, 2])
  expect((await ask('/v1/sessions/s1')).body.head).toBe(1)
})

test('a state vector is answered with what it lacks, and asked for what we lack', async () => {
  await postUpdate(one)
  const client = await join('s1')
  client.send(encodeStep1(Y.encodeStateVector(new Y.Doc())))
  const { bytes } = await client.next(isUpdate)
  const doc = new Y.Doc()
  Y.applyUpdate(doc, bytes)
  expect(doc.getText('about').toString()).toBe('one')
  expect(Y.decodeStateVector((await client.next(isStep1)).stateVector)).toEqual(new Map([[7, 3]]))
})

/** More than a frame holds, in updates that each fit. */
async function postLarge(): Promise<void> {
  const chunk = 'x'.repeat(200_000)
  for (let at = 0; at < 8; at++) {
    await postUpdate(craftUpdate({ clients: text(7, at * chunk.length, chunk) }))
  }
}

test('F66 a document that no frame holds reaches a stock client in frames that do, and then as synced', async () => {
  await postLarge()
  const client = await join('s1')
  client.send(encodeStep1(Y.encodeStateVector(new Y.Doc())))
  await client.next(isStep1)
  const updates = client.frames.filter(isUpdate)
  for (const { bytes } of updates) expect(bytes.length).toBeLessThan(MAX_FRAME_BYTES)
  expect(updates.map(({ answer }) => answer)).toEqual([...Array<boolean>(8).fill(false), true])
  const stock = stockClient('s1')
  await synced(stock)
  expect(stock.doc.getText('about').length).toBe(1_600_000)
})

test('R8 whoever said hello has the log already, and is not sent it twice', async () => {
  await postLarge()
  const { client } = await hello('s1@i1')
  client.send(encodeStep1(Y.encodeStateVector(new Y.Doc())))
  await client.next(isStep1)
  expect(client.frames.filter(isUpdate).filter(({ bytes }) => bytes.length > 2)).toHaveLength(8)
})

test('F62 marks that wait for a repair are bounded: of a socket, which is closed with 4400', async () => {
  const { client } = await hello('s1@i1')
  client.send(encodeUpdate(two))
  await client.next(isStep1)
  for (let n = 0; n <= 64; n++) client.signal({ kind: 'mark', n })
  expect(await client.closed).toBe(4400)
})

test('F62 marks that wait for a repair are bounded: of a room, whose next socket is to come back later', async () => {
  const clients = await Promise.all(Array.from({ length: 17 }, (_, at) => hello('s1@i1', 0, `d${at}`)))
  for (const { client } of clients) {
    client.send(encodeUpdate(two))
    await client.next(isStep1)
  }
  const last = clients.pop()
  for (const { client } of clients) for (let n = 0; n < 64; n++) client.signal({ kind: 'mark', n })
  // Each socket's frames are taken in order: what it asks for after its marks is answered after them.
  for (const { client } of clients) {
    client.send(encodeStep1(Y.encodeStateVector(new Y.Doc())))
    await client.next(isStep1)
  }
  last?.client.signal({ kind: 'mark', n: 0 })
  expect(await last?.client.closed).toBe(4503)
})

test('G4 G9 a mark is not answered when an update before it could not be stored, also when a later one could', async () => {
  const store = { epoch: '1-a', decide: async () => ({ session: null, ended: new Set() }) } as unknown as Store
  const ends: { resolve: (outcome: AppendOutcome) => void; reject: (reason: Error) => void }[] = []
  const relay = createRelay({
    server: { name: 'rejoin', store, now: Date.now },
    changes: createSessionChanges(),
    log: { append: () => new Promise((resolve, reject) => ends.push({ resolve, reject })) },
  })
  const sent: Uint8Array[] = []
  const send = (bytes: Uint8Array) => sent.push(bytes)
  const socket = Object.assign(new EventEmitter(), { OPEN: 1, readyState: 1, bufferedAmount: 0, send })
  const closed = new Promise<number>((resolve) => Object.assign(socket, { close: resolve }))
  relay.join(socket as unknown as WebSocket, { account: 'acme', sub: 'ann', sessionId: 's1' })
  const emit = (bytes: Uint8Array) => socket.emit('message', Buffer.from(bytes), true)
  emit(encodeUpdate(one))
  emit(encodeUpdate(two))
  emit(encodeSignal({ kind: 'mark', n: 7 }))
  ends[1]?.resolve({ reply: { status: 200, body: {} } } as AppendOutcome)
  ends[0]?.reject(new Error('disk full'))
  expect(await closed).toBe(4503)
  await new Promise(setImmediate)
  expect(sent).toEqual([])
  socket.emit('close')
  relay.close()
})

test('F62 marks that wait for a store that does not answer are bounded: their socket is not read from any more', async () => {
  const never = new Promise<never>(() => {})
  const store = { epoch: '1-a', decide: () => never, updates: () => never } as unknown as Store
  const changes = createSessionChanges()
  const relay = createRelay({
    server: { name: 'rejoin', store, now: Date.now },
    changes,
    log: { append: () => never },
  })
  const socket = Object.assign(new EventEmitter(), { OPEN: 1, readyState: 1, bufferedAmount: 0, close() {} })
  const paused = new Promise<void>((resolve) => Object.assign(socket, { pause: resolve }))
  relay.join(socket as unknown as WebSocket, { account: 'acme', sub: 'ann', sessionId: 's1' })
  socket.emit('message', Buffer.from(encodeUpdate(one)), true)
  for (let n = 0; n < 256; n++) socket.emit('message', Buffer.from(encodeSignal({ kind: 'mark', n })), true)
  await paused
  socket.emit('close')
  relay.close()
})

test('F62 a poisoned update closes its socket with 4422, is stored nowhere, and the others go on', async () => {
  const other = await hello('s1@i1', 0, 'b')
  const bad = await join('s1@i1')
  bad.send(encodeUpdate(Uint8Array.from([1, 0xff, 0xff, 0xff, 0xff, 0x07, 0])))
  expect(await bad.closed).toBe(4422)
  other.client.send(encodeUpdate(one))
  other.client.signal({ kind: 'mark', n: 1 })
  await other.client.nextSignal('marked')
  expect((await ask('/v1/sessions/s1')).body.head).toBe(1)
  expect((await ask('/metrics')).body).toContain('rejoin_refusals_total{code="update-invalid"} 1')
})

test('F62 text, unknown frames, and awareness that nobody could read close with 4400', async () => {
  const awareness = (write: (encoder: encoding.Encoder) => void) => {
    const inner = encoding.createEncoder()
    write(inner)
    const outer = encoding.createEncoder()
    encoding.writeVarUint(outer, 1)
    encoding.writeVarUint8Array(outer, encoding.toUint8Array(inner))
    return encoding.toUint8Array(outer)
  }
  const state = (json: string) =>
    awareness((encoder) => {
      for (const number of [1, 5, 0]) encoding.writeVarUint(encoder, number)
      encoding.writeVarString(encoder, json)
    })
  const frames: (string | Uint8Array)[] = [
    'hello',
    new Uint8Array(),
    Uint8Array.of(9, 9),
    Uint8Array.of(100, 77),
    Uint8Array.of(0, 0, 200, 1),
    state('{not json'),
    state('['.repeat(70) + ']'.repeat(70)),
    state(JSON.stringify('x'.repeat(20_000))),
  ]
  for (const frame of frames) {
    const client = await join('s1')
    client.send(frame)
    expect(await client.closed).toBe(4400)
  }
})

test('F62 a frame over the limit closes its socket with 1009', async () => {
  const client = await join('s1')
  client.send(new Uint8Array(MAX_FRAME_BYTES + 1))
  expect(await client.closed).toBe(1009)
})

test('F62 G9 nothing is taken from a socket that was sent away, whatever it sends until it hears of that', async () => {
  const { client } = await hello('s1@i1')
  const doc = new Y.Doc()
  doc.getArray('messages').insert(0, ['written before it knew'])
  // In one piece, so that all of it is there when the first frame is refused.
  client.socket.send('no frame of this protocol')
  client.send(encodeUpdate(Y.encodeStateAsUpdate(doc)))
  client.signal({ kind: 'mark', n: 1 })
  expect(await client.closed).toBe(4400)
  expect(client.frames.some((it) => it.kind === 'signal' && it.signal.kind === 'marked')).toBe(false)
  expect((await ask('/v1/sessions/s1')).status).toBe(404)
})

test('another version of the protocol is told ours, and closed', async () => {
  const client = await join('s1@i1')
  client.signal({ kind: 'hello', version: 2, device: 'b', since: 0 })
  expect((await client.nextSignal('welcome')).version).toBe(1)
  expect(await client.closed).toBe(4400)
})

test('G8 F43 a delete closes the room with 4410, and who knows no incarnation cannot bring the session back', async () => {
  await postUpdate(one)
  const { client } = await hello('s1@i1')
  const stock = await join('s1')
  await ask('/v1/sessions/s1?incarnation=i1', { method: 'DELETE' })
  expect(await client.closed).toBe(4410)
  expect(await stock.closed).toBe(4410)
  expect(await (await join('s1@i1')).closed).toBe(4410)
  expect(await (await join('s1')).closed).toBe(4410)
  const stale = await join('s1')
  stale.send(encodeUpdate(one))
  expect(await stale.closed).toBe(4410)
  expect((await ask('/v1/sessions/s1')).status).toBe(404)
})

test('I1 a room of another incarnation than the live one closes with 4409', async () => {
  const early = await join('s1@i2')
  await postUpdate(one)
  expect(await early.closed).toBe(4409)
  expect(await (await join('s1@i2')).closed).toBe(4409)
  const { client } = await hello('s1@i1')
  expect(client.frames.filter(isUpdate)).toHaveLength(1)
})

test('G10 a room of one account hears nothing of the same id in another', async () => {
  const other = await createServer({ account: 'evil', port: 0 })
  const room = await joinRoom(await other.listen(), 's1@i1')
  room.signal({ kind: 'hello', version: 1, device: 'e', since: 0 })
  await postUpdate(one)
  expect((await room.nextSignal('changed')).head).toBe(0)
  room.close()
  await other.close()
})

test('F66 a server that stops sends its sockets away to come back, and ends', async () => {
  const { client } = await hello('s1@i1')
  client.send(encodeUpdate(one))
  client.signal({ kind: 'mark', n: 1 })
  await client.nextSignal('marked')
  await server.close()
  expect(await client.closed).toBe(1012)
})
