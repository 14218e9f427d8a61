import fc from 'fast-check'
import * as encoding from 'lib0/encoding'
import { expect, test } from 'vitest'
import * as Y from 'yjs'
import { scanUpdate } from '../../sync-server/src/scan-update.ts'
import { createLogKnowledge, inspectUpdates, type LogKnowledge } from '../../sync-server/src/update-guard.ts'
import { type CraftedUpdate, craftUpdate, text } from './crafted-update.ts'

/** Inspects, and takes in what was accepted: as the log does. */
function offer(log: LogKnowledge, ...updates: Uint8Array[]) {
  const inspection = inspectUpdates(log, updates)
  if (inspection.kind === 'accepted') inspection.learn()
  return inspection
}

function logWith(...updates: Uint8Array[]): LogKnowledge {
  const log = createLogKnowledge()
  for (const update of updates) expect(offer(log, update).kind).toBe('accepted')
  return log
}

const victim = 7
const hello = craftUpdate({ clients: text(victim, 0, 'hello') })

const invalid: Record<string, Uint8Array> = {
  'the clock of a client jumps far ahead': craftUpdate({
    clients: [{ client: victim, clock: 5, structs: [{ gc: 2_000_000_000 }] }],
  }),
  'many small structs without content jump as far': craftUpdate({
    clients: [{ client: victim, clock: 5, structs: Array.from({ length: 20 }, () => ({ gc: 100_000 })) }],
  }),
  '7 bytes that promise a huge number of structs': Uint8Array.from([1, 0xff, 0xff, 0xff, 0xff, 0x07, 0]),
  'a count of clients that the bytes cannot hold': Uint8Array.from([0xff, 0xff, 0x03, 0]),
  'a skipped struct': craftUpdate({ clients: [{ client: 9, clock: 0, structs: [{ skip: 3 }] }] }),
  'an unknown root': craftUpdate({
    clients: [{ client: 9, clock: 0, structs: [{ root: 'evil', content: { text: 'x' } }] }],
  }),
  'a client twice': craftUpdate({ clients: [...text(9, 0, 'a'), ...text(9, 1, 'b')] }),
  'an empty text': craftUpdate({ clients: text(9, 0, '') }),
  'an empty deletion': craftUpdate({ deletes: [{ client: victim, ranges: [[0, 0]] }] }),
  'an operation that stands on itself': craftUpdate({
    clients: [{ client: 9, clock: 0, structs: [{ origin: [9, 0], content: { text: 'x' } }] }],
  }),
  'operations that stand on each other': craftUpdate({
    clients: [
      { client: 9, clock: 0, structs: [{ origin: [10, 0], content: { text: 'x' } }] },
      { client: 10, clock: 0, structs: [{ origin: [9, 0], content: { text: 'y' } }] },
    ],
  }),
  'a value that nests too deep': craftUpdate({
    clients: [{ client: 9, clock: 0, structs: [{ root: 'about', sub: 'x', content: { any: [nested(70)] } }] }],
  }),
  'a value whose nesting is a megabyte': craftUpdate({
    clients: [
      {
        client: 9,
        clock: 0,
        structs: [
          {
            root: 'about',
            content: {
              ref: 8,
              write: (encoder) => {
                encoding.writeVarUint(encoder, 1)
                encoding.writeUint8Array(
                  encoder,
                  new Uint8Array(400_000).fill(117).map((it, at) => (at % 2 ? 1 : it)),
                )
              },
            },
          },
        ],
      },
    ],
  }),
  'types nested too deep': craftUpdate({
    clients: [
      {
        client: 9,
        clock: 0,
        structs: Array.from({ length: 100 }, (_, at) =>
          at === 0
            ? { root: 'messages', content: { type: 1 } }
            : { parent: [9, at - 1] as const, sub: 'x', content: { type: 1 } },
        ),
      },
    ],
  }),
  'a key that would replace a prototype': craftUpdate({
    clients: [
      {
        client: 9,
        clock: 0,
        structs: [{ root: 'about', sub: 'x', content: { any: [JSON.parse('{"__proto__":{"a":1}}')] } }],
      },
    ],
  }),
  'a subdocument': craftUpdate({
    clients: [
      {
        client: 9,
        clock: 0,
        structs: [
          {
            root: 'about',
            sub: 'x',
            content: {
              ref: 9,
              write: (encoder) => {
                encoding.writeVarString(encoder, 'guid')
                encoding.writeAny(encoder, {})
              },
            },
          },
        ],
      },
    ],
  }),
  'an XML type': craftUpdate({
    clients: [{ client: 9, clock: 0, structs: [{ root: 'about', sub: 'x', content: { type: 4 } }] }],
  }),
  'text that is not UTF-8': craftUpdate({
    clients: [
      {
        client: 9,
        clock: 0,
        structs: [
          {
            root: 'about',
            content: { ref: 4, write: (encoder) => encoding.writeVarUint8Array(encoder, Uint8Array.of(0xc3, 0x28)) },
          },
        ],
      },
    ],
  }),
  'a value of an unknown kind': craftUpdate({
    clients: [
      {
        client: 9,
        clock: 0,
        structs: [
          {
            root: 'about',
            content: { ref: 8, write: (encoder) => encoding.writeUint8Array(encoder, Uint8Array.of(1, 9)) },
          },
        ],
      },
    ],
  }),
  'a client id beyond 32 bits': craftUpdate({ clients: text(2 ** 40, 0, 'x') }),
  'bytes left over': Uint8Array.from([...hello, 0]),
  nothing: new Uint8Array(),
}

test.each(Object.entries(invalid))(
  'F62 an update with %s is invalid, and the log learns nothing of it',
  (_what, update) => {
    const log = logWith(hello)
    expect(offer(log, update).kind).toBe('invalid')
    expect(log.clocks).toEqual(new Map([[victim, 5]]))
  },
)

test('F62 a promise that the bytes cannot keep is noticed before anything is made for it', () => {
  for (const count of [invalid['7 bytes that promise a huge number of structs'], Uint8Array.of(0, 0xff, 0x7f)]) {
    expect(inspectUpdates(createLogKnowledge(), [count ?? new Uint8Array()])).toEqual({
      kind: 'invalid',
      reason: 'a count that the bytes cannot hold',
    })
  }
})

test('F62 every truncation of a real update is invalid', () => {
  const update = Y.encodeStateAsUpdate(chat(3))
  for (let length = 0; length < update.length; length++) {
    expect(inspectUpdates(createLogKnowledge(), [update.subarray(0, length)]).kind).toBe('invalid')
  }
})

const gaps: Record<string, CraftedUpdate> = {
  'starts after the clock that is known': { clients: text(victim, 9, 'x') },
  'stands on an operation that is not there': {
    clients: [{ client: 9, clock: 0, structs: [{ origin: [8, 0], content: { text: 'x' } }] }],
  },
  'stands on an operation that its client has not made yet': {
    clients: [{ client: 9, clock: 0, structs: [{ origin: [victim, 5], content: { text: 'x' } }] }],
  },
  'deletes what is not written yet': { deletes: [{ client: victim, ranges: [[3, 9]] }] },
}

test.each(Object.entries(gaps))('F62 an update that %s is a gap: nothing waits in the log', (_what, update) => {
  const log = logWith(hello)
  expect(offer(log, craftUpdate(update)).kind).toBe('gap')
  expect(log.clocks).toEqual(new Map([[victim, 5]]))
})

test('an update is accepted once what it stands on is there', () => {
  const log = logWith(hello)
  const later = craftUpdate({ clients: text(victim, 6, '!') })
  expect(offer(log, later).kind).toBe('gap')
  expect(offer(log, craftUpdate({ clients: text(victim, 5, ' ') }), later)).toMatchObject({ kind: 'accepted' })
  expect(log.clocks.get(victim)).toBe(7)
})

test('one update that does not fit refuses all that came with it', () => {
  const log = logWith(hello)
  const fine = craftUpdate({ clients: text(victim, 5, ' ') })
  expect(inspectUpdates(log, [fine, craftUpdate({ clients: text(9, 4, 'x') })]).kind).toBe('gap')
  expect(inspectUpdates(log, [fine, new Uint8Array([1])]).kind).toBe('invalid')
})

test('F26 what the log has already is accepted and not stored again, deletions too', () => {
  const doc = chat(3)
  doc.getArray('messages').delete(0, 1)
  const update = Y.encodeStateAsUpdate(doc)
  const log = logWith(update)
  expect(offer(log, update)).toMatchObject({ kind: 'accepted', fresh: [] })
  expect(offer(log, Uint8Array.of(0, 0))).toMatchObject({ kind: 'accepted', fresh: [] })
  const before = Y.encodeStateVector(doc)
  doc.getArray('messages').delete(0, 1)
  const deletion = Y.encodeStateAsUpdate(doc, before)
  expect(offer(log, deletion)).toMatchObject({ kind: 'accepted', fresh: [deletion] })
  expect(offer(log, deletion)).toMatchObject({ kind: 'accepted', fresh: [] })
})

test('a long offline text that was deleted again is no jump', () => {
  const doc = new Y.Doc()
  const title = doc.getText('about')
  title.insert(0, 'x'.repeat(200_000))
  title.delete(0, 200_000)
  expect(inspectUpdates(createLogKnowledge(), [Y.encodeStateAsUpdate(doc)]).kind).toBe('accepted')
})

test('everything that documents of ours do is accepted, in the order in which it was done', () => {
  fc.assert(
    fc.property(fc.array(edit, { maxLength: 60 }), (edits) => {
      const log = createLogKnowledge()
      const docs = [new Y.Doc(), new Y.Doc(), new Y.Doc()] as const
      const server = new Y.Doc()
      for (const doc of docs) {
        doc.on('update', (update: Uint8Array, origin: unknown) => {
          if (origin === 'sync') return
          const inspection = offer(log, update)
          expect(inspection.kind).toBe('accepted')
          Y.applyUpdate(server, update, 'sync')
        })
      }
      for (const it of edits) apply(docs, it)
      expect(log.clocks).toEqual(new Map(Y.decodeStateVector(Y.encodeStateVector(server))))
      const all = Y.encodeStateAsUpdate(server)
      expect(offer(createLogKnowledge(), all).kind).toBe('accepted')
      // Two devices that set one key at once leave a deletion that neither of them sent: merging makes it.
      expect(offer(log, all).kind).toBe('accepted')
      expect(offer(log, all)).toMatchObject({ kind: 'accepted', fresh: [] })
      expect(scanUpdate(all).clients.map(({ client }) => client)).toEqual([
        ...new Set(Y.decodeUpdate(all).structs.map(({ id }) => id.client)),
      ])
    }),
    { numRuns: 60 },
  )
})

test('F62 a flipped bit is refused, or does to a document what the log says that it does', () => {
  const doc = chat(4)
  const update = Y.encodeStateAsUpdate(doc)
  fc.assert(
    fc.property(fc.nat({ max: update.length * 8 - 1 }), (bit) => {
      const bytes = Uint8Array.from(update)
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const log = createLogKnowledge()
      if (offer(log, bytes).kind !== 'accepted') return
      const reader = new Y.Doc()
      Y.applyUpdate(reader, bytes)
      expect(reader.store.pendingStructs).toBeNull()
      expect(reader.store.pendingDs).toBeNull()
      expect(Y.decodeStateVector(Y.encodeStateVector(reader))).toEqual(log.clocks)
    }),
    { numRuns: 1500 },
  )
})

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)]
}

/** A document like ours: messages with text, tool calls and plain values. */
function chat(messages: number): Y.Doc {
  const doc = new Y.Doc()
  for (let at = 0; at < messages; at++) addMessage(doc, at)
  return doc
}

function addMessage(doc: Y.Doc, at: number): void {
  doc.transact(() => {
    const message = new Y.Map<unknown>()
    const list = doc.getArray<Y.Map<unknown>>('messages')
    list.insert(list.length, [message])
    message.set('id', `m${at}`)
    message.set('status', 'complete')
    const content = new Y.Text()
    message.set('content', content)
    content.insert(0, `Grüße ${at} 👋`)
    const calls = new Y.Map<unknown>()
    message.set('toolCalls', calls)
    calls.set('call-1', new Y.Map(Object.entries({ name: 'refund', args: '{"order":7}', at: 1.5, ok: true, no: null })))
  })
}

const edit = fc.record({
  doc: fc.nat({ max: 2 }),
  kind: fc.constantFrom('message', 'type', 'erase', 'status', 'drop', 'sync'),
  at: fc.nat({ max: 30 }),
})

function apply(docs: readonly Y.Doc[], { doc: which, kind, at }: { doc: number; kind: string; at: number }): void {
  const doc = docs[which] as Y.Doc
  const list = doc.getArray<Y.Map<unknown>>('messages')
  const message = list.length > 0 ? list.get(at % list.length) : undefined
  const content = message?.get('content')
  if (kind === 'message') addMessage(doc, at)
  else if (kind === 'sync') {
    const from = docs[at % docs.length] as Y.Doc
    Y.applyUpdate(doc, Y.encodeStateAsUpdate(from, Y.encodeStateVector(doc)), 'sync')
  } else if (kind === 'drop' && message) list.delete(at % list.length, 1)
  else if (kind === 'status') message?.set('status', `s${at}`)
  else if (content instanceof Y.Text && kind === 'type') content.insert(Math.min(at, content.length), 'more')
  else if (content instanceof Y.Text && content.length > 0 && kind === 'erase') content.delete(at % content.length, 1)
}
