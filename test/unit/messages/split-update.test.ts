import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as Y from 'yjs'
import { splitUpdate } from '../../../src/messages/split-update.ts'
import { createLogKnowledge, inspectUpdates } from '../../../sync-server/src/update-guard.ts'

/** What a peer has after each piece alone, in order; nothing may wait for a later one. */
function applied(pieces: readonly Uint8Array[]): Y.Doc {
  const doc = new Y.Doc()
  for (const piece of pieces) {
    Y.applyUpdate(doc, piece)
    expect(doc.store.pendingStructs).toBeNull()
    expect(doc.store.pendingDs).toBeNull()
  }
  return doc
}

/** The server takes them one by one. */
function expectAccepted(pieces: readonly Uint8Array[]): void {
  const knowledge = createLogKnowledge()
  for (const piece of pieces) {
    const inspection = inspectUpdates(knowledge, [piece])
    expect(inspection.kind).toBe('accepted')
    if (inspection.kind === 'accepted') inspection.learn()
  }
}

function write(doc: Y.Doc, edit: { readonly at: number; readonly text: string; readonly remove: number }): void {
  const texts = doc.getArray<Y.Text>('messages')
  if (texts.length === 0 || edit.text === '') texts.insert(texts.length, [new Y.Text('new ')])
  const text = texts.get(edit.at % texts.length)
  const at = edit.at % (text.length + 1)
  text.insert(at, edit.text)
  text.delete(0, Math.min(edit.remove, text.length))
}

test('G5 a document in pieces is the document, and no piece waits for a later one', () => {
  const edit = fc.record({
    writer: fc.nat({ max: 2 }),
    at: fc.nat({ max: 40 }),
    text: fc.string({ maxLength: 40, unit: 'grapheme' }),
    remove: fc.nat({ max: 8 }),
    meet: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(edit, { minLength: 1, maxLength: 30 }), fc.integer({ min: 100, max: 400 }), (edits, max) => {
      const docs = [new Y.Doc(), new Y.Doc(), new Y.Doc()]
      const sync = () => {
        for (const from of docs) for (const to of docs) Y.applyUpdate(to, Y.encodeStateAsUpdate(from))
      }
      for (const each of edits) {
        write(docs[each.writer] as Y.Doc, each)
        if (each.meet) sync()
      }
      sync()
      const whole = Y.encodeStateAsUpdate(docs[0] as Y.Doc)
      const pieces = splitUpdate(whole, max)
      const doc = applied(pieces)
      expect(doc.getArray('messages').toJSON()).toEqual(docs[0]?.getArray('messages').toJSON())
      expect(Y.encodeStateVector(doc)).toEqual(Y.encodeStateVector(docs[0] as Y.Doc))
      expectAccepted(pieces)
      for (const piece of pieces) expect(piece.length).toBeLessThan(max + 200)
    }),
    { numRuns: 200 },
  )
})

test('a text that is longer than a piece is cut, and never inside a surrogate pair', () => {
  const doc = new Y.Doc()
  doc.getArray('messages').insert(0, [new Y.Text('a'.concat('😀'.repeat(50_000)))])
  const pieces = splitUpdate(Y.encodeStateAsUpdate(doc), 10_000)
  expect(pieces.length).toBeGreaterThan(10)
  for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(10_000)
  expect(applied(pieces).getArray('messages').toJSON()).toEqual(doc.getArray('messages').toJSON())
})

test('what stands on something that is elsewhere is cut the same way', () => {
  const doc = new Y.Doc()
  const text = doc.getArray<Y.Text>('messages')
  text.insert(0, [new Y.Text('here')])
  const known = Y.encodeStateAsUpdate(doc)
  for (let at = 0; at < 50; at++) text.get(0).insert(at, 'and more '.repeat(20))
  const pieces = splitUpdate(Y.encodeStateAsUpdate(doc, Y.encodeStateVector(withState(known))), 1000)
  expect(
    applied([known, ...pieces])
      .getArray('messages')
      .toJSON(),
  ).toEqual(doc.getArray('messages').toJSON())
})

function withState(update: Uint8Array): Y.Doc {
  const doc = new Y.Doc()
  Y.applyUpdate(doc, update)
  return doc
}
