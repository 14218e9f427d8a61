import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type MessageChanges, messageChanges, messageKeys, unchangedEnds } from '../../../src/core/message-changes.ts'
import type { StoredCall, StoredMessage } from '../../../src/core/stored-message.ts'
import { spliceOnto } from '../../../src/core/text-edit.ts'

function stored(id: string, content = '', rest: Partial<StoredMessage> = {}): StoredMessage {
  return {
    id,
    role: id.startsWith('u') ? 'user' : 'assistant',
    content,
    status: 'complete',
    createdAt: '2026-01-01T00:00:00.000Z',
    toolCallId: undefined,
    parts: undefined,
    metadata: undefined,
    reasoning: undefined,
    interrupted: false,
    calls: [],
    ...rest,
  }
}

function call(id: string, rest: Partial<StoredCall> = {}): StoredCall {
  return { id, name: 'refund', args: '{}', status: 'pending', result: undefined, error: undefined, ...rest }
}

interface Held {
  readonly key: string
  readonly message: StoredMessage
}

/** A document as a plain list: what changes mean, in the fewest words. */
function applyTo(document: readonly Held[], changes: MessageChanges): Held[] {
  let list = document.filter(({ key }) => !changes.removals.includes(key))
  for (const { key, saved, content, reasoning, fields } of changes.edits) {
    list = list.map((held) => {
      if (held.key !== key) return held
      const { message } = held
      return {
        key,
        message: {
          ...message,
          ...fields,
          calls: saved.calls,
          content: content ? spliced(message.content, content) : message.content,
          reasoning:
            reasoning === null
              ? undefined
              : reasoning
                ? spliced(message.reasoning ?? '', reasoning)
                : message.reasoning,
        },
      }
    })
  }
  const moving = new Map(list.map((held) => [held.key, held]))
  const moved = changes.placements.filter(({ message }) => !message).map(({ key }) => key)
  list = list.filter(({ key }) => !moved.includes(key))
  for (const { key, place, message } of changes.placements) {
    const held = message ? { key, message } : moving.get(key)
    if (!held) continue
    const at =
      place === 'start' ? 0 : place === 'end' ? list.length : list.findIndex((each) => each.key === place.after) + 1
    list.splice(at, 0, held)
  }
  return list
}

function spliced(current: string, edit: { from: string; to: string }): string {
  const splice = spliceOnto(current, edit)
  if (!splice) return current
  return current.slice(0, splice.index) + splice.insert + current.slice(splice.index + splice.remove)
}

const held = (messages: readonly StoredMessage[]): Held[] =>
  messageKeys(messages).map((key, at) => ({ key, message: messages[at] as StoredMessage }))

const anyMessage = fc.record({
  id: fc.constantFrom('u1', 'u2', 'u3', 'a1', 'a2', 'a3', 'a4'),
  content: fc.constantFrom('', 'a', 'ab', 'abc', '\u{1f600}', 'x\u{1f600}'),
  status: fc.constantFrom('streaming' as const, 'complete' as const),
  reasoning: fc.constantFrom(undefined, 'why', 'why not'),
  metadata: fc.constantFrom(undefined, '{"a":1}'),
  calls: fc.constantFrom([], [call('c1')], [call('c2', { status: 'complete', result: 'ok' }), call('c1')]),
})
const anyList = fc
  .array(anyMessage, { maxLength: 8 })
  .map((all) => all.map(({ id, content, ...rest }) => stored(id, content, rest)))

test('on a document equal to what the writer knew, the changes give what it saved', () => {
  fc.assert(
    fc.property(anyList, anyList, (base, saved) => {
      expect(applyTo(held(base), messageChanges(base, saved)).map(({ message }) => message)).toEqual(saved)
    }),
  )
})

test('H12 a list that is saved as it was known changes nothing', () => {
  fc.assert(
    fc.property(anyList, (list) => {
      const changes = messageChanges(
        list,
        list.map((each) => ({ ...each })),
      )
      expect([changes.placements, changes.edits, changes.removals]).toEqual([[], [], []])
    }),
  )
})

test('G7 H5 whatever others added is still there, in its order', () => {
  const others = fc.array(fc.tuple(fc.nat(8), fc.constantFrom('x1', 'x2', 'x3', 'x4')), { maxLength: 4 })
  fc.assert(
    fc.property(anyList, anyList, others, (base, saved, added) => {
      const document = held(base)
      for (const [at, id] of added) document.splice(at, 0, { key: `theirs ${id} ${at}`, message: stored(id) })
      const mine = (list: readonly Held[]) => list.filter(({ key }) => key.startsWith('theirs')).map(({ key }) => key)
      const after = applyTo(document, messageChanges(base, saved))
      expect(mine(after)).toEqual(mine(document))
      const own = after.filter(({ key }) => !key.startsWith('theirs'))
      expect(own.map(({ message }) => message.id).sort()).toEqual(saved.map(({ id }) => id).sort())
    }),
  )
})

test('H6 what the writer knew and left out is removed, and its replacement stands where it stood', () => {
  const base = [stored('u1'), stored('a1'), stored('u2')]
  const { removals, placements } = messageChanges(base, [stored('u1'), stored('a9'), stored('u2')])
  expect(removals).toEqual(['a1'])
  expect(placements).toMatchObject([{ key: 'a9', place: { after: 'u1' } }])
})

test('H3 a first turn of a writer that knows nothing goes behind everything', () => {
  expect(messageChanges([], [stored('u1'), stored('a1')]).placements).toMatchObject([
    { key: 'u1', place: 'end' },
    { key: 'a1', place: { after: 'u1' } },
  ])
})

test('H14 an answer goes right behind what it answers, a new turn behind everything', () => {
  const base = [stored('u1'), stored('a1')]
  const tool = stored('t1', '', { role: 'tool', toolCallId: 'c1' })
  const { placements } = messageChanges(base, [...base, tool, stored('a2'), stored('u2'), stored('a3')])
  expect(placements.map(({ key, place }) => [key, place])).toEqual([
    ['t1', { after: 'a1' }],
    ['a2', { after: 't1' }],
    ['u2', 'end'],
    ['a3', { after: 'u2' }],
  ])
})

test('equal ends that were left out change nothing about where the rest goes', () => {
  const context = { after: 'before', atEnd: false }
  const { placements } = messageChanges([stored('a1')], [stored('a1'), stored('u2')], context)
  expect(placements).toMatchObject([{ key: 'u2', place: { after: 'a1' } }])
  expect(messageChanges([], [stored('a1')], { after: 'before', atEnd: true }).placements).toMatchObject([
    { key: 'a1', place: { after: 'before' } },
  ])
})

test('H17 messages of one list that share an id are told apart', () => {
  const base = [stored('a1', 'one'), stored('a1', 'two')]
  const { edits, placements, removals } = messageChanges(base, [stored('a1', 'one'), stored('a1', 'two!')])
  expect(edits).toMatchObject([{ content: { from: 'two', to: 'two!' } }])
  expect([placements, removals]).toEqual([[], []])
})

test('tool calls are edited by their id and field by field', () => {
  const base = [stored('a1', '', { calls: [call('c1'), call('c2'), call('c3')] })]
  const saved = [
    stored('a1', '', { calls: [call('c3'), call('c1', { status: 'complete', result: 'ok' }), call('c4')] }),
  ]
  const edit = messageChanges(base, saved).edits[0]
  expect(edit?.removedCalls).toEqual(['c2'])
  expect(edit?.calls).toEqual([
    { index: 0, call: call('c3'), changed: new Set(['index']) },
    {
      index: 1,
      call: call('c1', { status: 'complete', result: 'ok' }),
      changed: new Set(['status', 'result', 'index']),
    },
    { index: 2, call: call('c4') },
  ])
})

test('a field that is gone is named as gone', () => {
  const [edit] = messageChanges([stored('a1', '', { metadata: '{}', reasoning: 'why' })], [stored('a1')]).edits
  expect(edit).toMatchObject({ fields: { metadata: undefined }, reasoning: null })
  expect(Object.hasOwn(edit?.fields ?? {}, 'metadata')).toBe(true)
})

test('the ends of a list that are the same objects are found without looking into them', () => {
  const list = Array.from({ length: 6 }, (_, at) => new Proxy({ at }, { get: () => expect.unreachable() }))
  expect(unchangedEnds(list, list)).toEqual({ start: 6, end: 0 })
  expect(unchangedEnds(list, list.with(3, {} as never))).toEqual({ start: 3, end: 2 })
  expect(unchangedEnds(list, list.toSpliced(2, 1))).toEqual({ start: 2, end: 3 })
})
