import { expect, test } from 'vitest'
import * as Y from 'yjs'
import { createMergedLog, type MergedState } from '../../sync-server/src/merged-log.ts'
import type { LogPage } from '../../sync-server/src/store.ts'
import { craftUpdate, text } from './crafted-update.ts'

/** A log in pages of one update. */
function logOf(rows: Uint8Array[], incarnation = () => 'i1') {
  const reads: number[] = []
  const merged = createMergedLog(async (after): Promise<LogPage | undefined> => {
    reads.push(after)
    if (rows.length === 0) return undefined
    const entries = rows.slice(after, after + 1).map((bytes) => ({ seq: after + 1, bytes }))
    return { incarnation: incarnation(), head: rows.length, entries, more: after + 1 < rows.length }
  })
  return { merged, reads }
}

function textOf({ update }: MergedState): string {
  const doc = new Y.Doc()
  Y.applyUpdate(doc, update)
  return doc.getText('about').toString()
}

const one = craftUpdate({ clients: text(7, 0, 'one') })
const two = craftUpdate({ clients: text(7, 3, ' two') })
const three = craftUpdate({ clients: text(7, 7, ' three') })

test('a log without a session is an empty document', async () => {
  const state = await logOf([]).merged.read()
  expect(textOf(state)).toBe('')
  expect(Y.decodeStateVector(state.stateVector)).toEqual(new Map())
})

test('it is brought forward by what is new, also by readers at once', async () => {
  const rows = [one, two]
  const { merged, reads } = logOf(rows)
  expect(textOf(await merged.read())).toBe('one two')
  rows.push(three)
  expect((await Promise.all([merged.read(), merged.read()])).map(textOf)).toEqual(['one two three', 'one two three'])
  expect(reads).toEqual([0, 1, 2, 3])
})

test('another incarnation begins anew', async () => {
  let incarnation = 'i1'
  const rows = [one, two]
  const { merged } = logOf(rows, () => incarnation)
  await merged.read()
  rows.splice(0, 2, craftUpdate({ clients: text(9, 0, 'other') }), craftUpdate({ clients: text(9, 5, ' one') }))
  incarnation = 'i2'
  rows.push(craftUpdate({ clients: text(9, 9, '!') }))
  expect(textOf(await merged.read())).toBe('other one!')
})

test('F62 F33 a damaged row does not keep the others from the peers', async () => {
  const { merged } = logOf([one, Uint8Array.of(1, 2, 3), two])
  expect(textOf(await merged.read())).toBe('one two')
})

test('a read that fails fails alone', async () => {
  let broken = true
  const merged = createMergedLog(async () => {
    if (broken) throw new Error('closed')
    return { incarnation: 'i1', head: 1, entries: [{ seq: 1, bytes: one }], more: false }
  })
  await expect(merged.read()).rejects.toThrow('closed')
  broken = false
  expect(textOf(await merged.read())).toBe('one')
})
