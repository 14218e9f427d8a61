import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as Y from 'yjs'
import type { ContentPart, Message, ToolCall } from '../../../src/contract/chat-message.ts'
import { isRejoinError } from '../../../src/errors.ts'
import { canonicalJson } from '../../../src/messages/canonical-json.ts'
import { decodeMessage } from '../../../src/messages/decode-message.ts'
import { createMessageMap, messagesOf, readMessage } from '../../../src/messages/document-layout.ts'
import { encodeMessage } from '../../../src/messages/encode-message.ts'
import { wellFormed } from '../../../src/messages/well-formed.ts'
import { message } from './tabs.ts'

/** Through a document, over the wire, into another one. */
function throughDocuments(given: Message): Message | undefined {
  const [here, there] = [new Y.Doc(), new Y.Doc()]
  messagesOf(here).insert(0, [createMessageMap({ ...encodeMessage(given), device: 'd1', follows: undefined })])
  Y.applyUpdate(there, Y.encodeStateAsUpdate(here))
  const stored = readMessage(messagesOf(there).get(0))
  return stored && decodeMessage(stored)
}

/** What upstream keeps of a value: `serializeMessages` is a JSON round trip. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

const json = fc.object({
  key: fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString', 'prototype')),
  values: [
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  ],
  maxDepth: 4,
})
const text = fc.string({ unit: 'grapheme' })
const anyCall: fc.Arbitrary<ToolCall> = fc.record(
  {
    id: fc.string({ minLength: 1, unit: 'grapheme-ascii' }),
    name: fc.string({ minLength: 1, unit: 'grapheme-ascii' }),
    args: json,
    status: fc.constantFrom('pending' as const, 'requires_confirmation' as const, 'complete' as const),
    result: text,
    error: text,
  },
  { requiredKeys: ['id', 'name', 'args', 'status'] },
)
const anyMessage: fc.Arbitrary<Message> = fc.record(
  {
    id: fc.string({ minLength: 1, unit: 'grapheme-ascii' }),
    role: fc.constantFrom('user' as const, 'assistant' as const, 'system' as const, 'tool' as const),
    content: text,
    status: fc.constantFrom('pending' as const, 'streaming' as const, 'complete' as const, 'error' as const),
    createdAt: fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') }),
    // Also of kinds that no version has yet.
    parts: fc.array(fc.tuple(json, fc.string()).map(([rest, type]) => ({ ...rest, type }) as unknown as ContentPart)),
    toolCalls: fc.uniqueArray(anyCall, { selector: ({ id }) => id, minLength: 1 }),
    toolCallId: fc.string({ unit: 'grapheme-ascii' }),
    metadata: fc.oneof(
      json,
      json.map((rest) => ({ ...rest, reasoning: 'because', interrupted: true })),
    ),
  },
  { requiredKeys: ['id', 'role', 'content', 'status', 'createdAt'] },
)

test('M3 CM1 every message comes back as it was, through a document and another device', () => {
  fc.assert(
    fc.property(anyMessage, (given) => {
      const back = throughDocuments(given)
      expect(asJson(back)).toEqual(asJson(given))
      expect(back?.createdAt).toEqual(given.createdAt)
    }),
  )
})

test('a key named __proto__ or constructor stays a key: results have ordinary prototypes', () => {
  const hostile = JSON.parse('{"__proto__":{"polluted":true},"constructor":"x","nested":[{"__proto__":1}]}')
  const given = message('a1', '', {
    metadata: hostile,
    parts: [{ type: 'text', ...hostile }],
    toolCalls: [{ id: '__proto__', name: 'constructor', args: hostile, status: 'pending' }],
  })
  const back = throughDocuments(given)
  for (const value of [back?.metadata, back?.parts?.[0], back?.toolCalls?.[0]?.args]) {
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(Object.hasOwn(value ?? {}, '__proto__')).toBe(true)
  }
  expect(back?.toolCalls?.[0]?.id).toBe('__proto__')
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test('M5 absent members vanish, dates become text, and nothing of the original is shared', () => {
  const args = { at: new Date(0), none: undefined, list: [undefined, Number.NaN], deep: { amount: 1 } }
  const given = message('a1', '', {
    toolCalls: [{ id: 'c1', name: 'refund', args, status: 'pending' }],
    metadata: undefined,
    toolCallId: undefined,
  } as unknown as Partial<Message>)
  const kept = encodeMessage(given)
  args.deep.amount = 2
  const back = decodeMessage(kept)
  expect(back.toolCalls?.[0]?.args).toEqual({ at: '1970-01-01T00:00:00.000Z', list: [null, null], deep: { amount: 1 } })
  expect(Object.keys(back).sort()).toEqual(['content', 'createdAt', 'id', 'role', 'status', 'toolCalls'])
  expect(decodeMessage(kept).toolCalls).not.toBe(back.toolCalls)
})

test('equal values are equal texts', () => {
  expect(canonicalJson({ b: [1, { d: 1, c: 2 }], a: 'x' })).toBe(canonicalJson({ a: 'x', b: [1, { c: 2, d: 1 }] }))
})

const cyclic: Record<string, unknown> = {}
cyclic.self = cyclic
let deep: Record<string, unknown> = {}
for (let level = 0; level < 100; level++) deep = { deep }

test.each<[string, unknown]>([
  ['an empty id', message('', 'x')],
  ['half a character as id', message('\ud83d', 'x')],
  ['an unknown role', message('u1', 'x', { role: 'robot' as never })],
  ['an unknown status', message('u1', 'x', { status: 'done' as never })],
  ['content that is no text', message('u1', 7 as never)],
  ['no date', message('u1', 'x', { createdAt: '2026-01-01' as never })],
  ['an impossible date', message('u1', 'x', { createdAt: new Date(Number.NaN) })],
  ['cyclic metadata', message('u1', 'x', { metadata: cyclic })],
  ['metadata that is too deep', message('u1', 'x', { metadata: deep })],
  ['a BigInt', message('u1', 'x', { metadata: { big: 1n } })],
  ['metadata that is a list', message('u1', 'x', { metadata: [] as never })],
  [
    'a getter that throws',
    message('u1', 'x', {
      metadata: Object.defineProperty({}, 'x', { enumerable: true, get: () => expect.unreachable() }),
    }),
  ],
  ['parts without a type', message('u1', 'x', { parts: [{} as never] })],
  ['calls that are no list', message('u1', 'x', { toolCalls: {} as never })],
  ['a call without a name', message('u1', 'x', { toolCalls: [{ id: 'c', name: '', args: {}, status: 'pending' }] })],
  [
    'a call with an unknown status',
    message('u1', 'x', { toolCalls: [{ id: 'c', name: 'n', args: {}, status: 'x' as never }] }),
  ],
  [
    'arguments that are no object',
    message('u1', 'x', { toolCalls: [{ id: 'c', name: 'n', args: 'x' as never, status: 'pending' }] }),
  ],
])('M4 %s is refused with a code', (_what, given) => {
  let thrown: unknown
  try {
    encodeMessage(given as Message)
  } catch (error) {
    thrown = error
  }
  expect(isRejoinError(thrown, 'refused')).toBe(true)
})

test('the first half of a character is held back until the other comes', () => {
  expect(wellFormed('a\ud83d')).toBe('a')
  expect(wellFormed('a\ud83d\ude00b', 'a')).toBe('a\u{1f600}b')
  expect(wellFormed('a\ud83dx', 'a')).toBe('a\ufffdx')
  expect(wellFormed('\ude00a')).toBe('\ufffda')
})

test('a text that grows in halves is at each moment what it is when read whole', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '\ud83d', '\ude00', 'é') }), (whole) => {
      let known = ''
      for (let length = 0; length <= whole.length; length++) known = wellFormed(whole.slice(0, length), known)
      expect(known).toBe(wellFormed(whole))
      expect(/\p{Surrogate}/u.test(known)).toBe(false)
    }),
  )
})

test.each<[string, (map: Y.Map<unknown>) => void]>([
  ['no id', (map) => map.delete('id')],
  ['an id that is no text', (map) => map.set('id', 7)],
  ['an unknown role', (map) => map.set('role', 'robot')],
  ['an unknown status', (map) => map.set('status', 'x')],
  ['no date', (map) => map.set('createdAt', 'yesterday')],
  ['no device', (map) => map.delete('device')],
  ['content that is a plain value', (map) => map.set('content', 'x')],
  ['content with something embedded', (map) => (map.get('content') as Y.Text).insertEmbed(0, { image: 'x' })],
  ['metadata that is no JSON', (map) => map.set('metadata', '{')],
  ['metadata that is a list', (map) => map.set('metadata', '[]')],
  ['metadata without an end', (map) => map.set('metadata', `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`)],
  ['parts that are no list', (map) => map.set('parts', '{}')],
  ['a call that is a plain value', (map) => map.set('call:c1', 'x')],
  [
    'a call without a status',
    (map) => map.set('call:c1', new Y.Map(Object.entries({ index: 0, name: 'n', args: '{}' }))),
  ],
  ['a nested list in place of a text', (map) => map.set('toolCallId', new Y.Array())],
])('a stored message with %s is no message', (_what, spoil) => {
  const doc = new Y.Doc()
  const map = createMessageMap({ ...encodeMessage(message('a1', 'x')), device: 'd1', follows: undefined })
  messagesOf(doc).insert(0, [map])
  expect(readMessage(map)?.content).toBe('x')
  spoil(map)
  expect(readMessage(map)).toBeUndefined()
})
