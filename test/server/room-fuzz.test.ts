import fc from 'fast-check'
import { createServer } from 'rejoin-server'
import { expect, test } from 'vitest'
import * as Y from 'yjs'
import { encodeSignal } from '../../src/protocol/signal.ts'
import { decodeRoomFrame, encodeStep1, encodeStep2, encodeUpdate } from '../../sync-server/src/room-frames.ts'
import { craftUpdate, text } from './crafted-update.ts'
import { joinRoom } from './room-client.ts'

const good = [
  encodeUpdate(craftUpdate({ clients: text(7, 0, 'hello') })),
  encodeStep2(craftUpdate({ deletes: [{ client: 7, ranges: [[0, 2]] }] })),
  encodeStep1(Y.encodeStateVector(new Y.Doc())),
  encodeSignal({ kind: 'hello', version: 1, device: 'x', since: 0 }),
  encodeSignal({ kind: 'mark', n: 3 }),
  Uint8Array.of(1, 7, 1, 5, 0, 4, 110, 117, 108),
]

/** A frame that is right, cut short, with a changed byte, or anything at all behind a known type. */
const frame = fc.oneof(
  fc.tuple(fc.constantFrom(...good), fc.nat()).map(([bytes, at]) => bytes.subarray(0, at % (bytes.length + 1))),
  fc.tuple(fc.constantFrom(...good), fc.nat(), fc.nat({ max: 255 })).map(([bytes, at, value]) => {
    const changed = Uint8Array.from(bytes)
    changed[at % bytes.length] = value
    return changed
  }),
  fc
    .tuple(
      fc.constantFrom([0, 0], [0, 1], [0, 2], [1], [3], [100], [100, 0], [100, 2], []),
      fc.uint8Array({ maxLength: 64 }),
    )
    .map(([head, rest]) => Uint8Array.from([...head, ...rest])),
  fc.string().map((it) => new TextEncoder().encode(it)),
)

test('F62 reading a frame never throws, whatever came', { timeout: 30_000 }, () => {
  fc.assert(
    fc.property(frame, (bytes) => {
      decodeRoomFrame(bytes)
    }),
    { numRuns: 10_000 },
  )
})

test('F62 thousands of strange frames close their sockets, and a witness in the room goes on', {
  timeout: 60_000,
}, async () => {
  const server = await createServer({ port: 0 })
  const url = await server.listen()
  const witness = await joinRoom(url, 's1@i1')
  witness.signal({ kind: 'hello', version: 1, device: 'witness', since: 0 })
  await witness.nextSignal('welcome')
  const codes = new Set<number>()
  for (const frames of fc.sample(fc.array(frame, { minLength: 1, maxLength: 30 }), { numRuns: 200, seed: 42 })) {
    const client = await joinRoom(url, 's1@i1')
    for (const bytes of frames) client.send(bytes)
    // Answered when everything before it was read: a socket that is still open then has been asked for nothing wrong.
    const heard = new Promise<undefined>((resolve) => client.socket.once('pong', () => resolve(undefined)))
    client.socket.ping()
    const code = await Promise.race([client.closed, heard])
    if (code !== undefined) codes.add(code)
    client.close()
  }
  // Everything that a socket can be closed with is one of our codes, and none of them is an accident of the server.
  expect([...codes].filter((code) => ![4400, 4422, 1005, 1006].includes(code))).toEqual([])
  witness.signal({ kind: 'mark', n: 1 })
  expect((await witness.nextSignal('marked')).n).toBe(1)
  const doc = new Y.Doc()
  for (const it of witness.frames) if (it.kind === 'update') Y.applyUpdate(doc, it.bytes)
  expect(doc.store.pendingStructs).toBeNull()
  witness.close()
  await server.close()
})
