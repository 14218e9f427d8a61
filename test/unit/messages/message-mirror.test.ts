import { expect, test } from 'vitest'
import * as Y from 'yjs'
import { createMessageMap, messagesOf } from '../../../src/messages/document-layout.ts'
import { createMessageMirror, type Slot } from '../../../src/messages/message-mirror.ts'

const stored = {
  id: 'm1',
  role: 'user',
  content: 'hello',
  status: 'complete',
  createdAt: new Date(0).toISOString(),
  toolCallId: undefined,
  parts: undefined,
  metadata: undefined,
  reasoning: undefined,
  interrupted: false,
  calls: [],
  device: 'd1',
  follows: undefined,
} as const

function openMirror() {
  const doc = new Y.Doc()
  const malformed: Slot[] = []
  messagesOf(doc).insert(0, [createMessageMap(stored), createMessageMap({ ...stored, id: 'm2' })])
  const mirror = createMessageMirror(doc, {
    onChange() {},
    onView() {},
    onMalformed: (slot) => malformed.push(slot),
  })
  return { doc, mirror, malformed }
}

test('G9 a message that is removed in a transaction which has not ended is gone, and not malformed', () => {
  const { doc, mirror, malformed } = openMirror()
  const [first] = mirror.slots()
  doc.transact(() => {
    messagesOf(doc).delete(0)
    expect(first && mirror.read(first)).toBeUndefined()
  })
  expect(malformed).toEqual([])
  expect(mirror.get().map(({ id }) => id)).toEqual(['m2'])
})

test('G9 something else in the place of a message is malformed, and said to be once', () => {
  const { doc, mirror, malformed } = openMirror()
  messagesOf(doc).insert(1, [new Y.Map([['id', 'x']])])
  expect(mirror.get().map(({ id }) => id)).toEqual(['m1', 'm2'])
  messagesOf(doc).insert(0, ['text'])
  expect(mirror.get().map(({ id }) => id)).toEqual(['m1', 'm2'])
  expect(malformed).toHaveLength(2)
})
