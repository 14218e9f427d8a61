import { expect, test } from 'vitest'
import { cutOrphans } from '../../../src/core/cut-orphans.ts'
import { committed, session, snapshot, syncedRow, talk } from './sessions.ts'

const stored = snapshot({ cursor: 4, conversation: talk('m1', 'm2', 'm3') })
const has = (...ids: string[]) => new Set(ids).has.bind(new Set(ids))

test('R8 decisions from the first one on whose message is missing are cut, the cursor is raised, and they are reported', () => {
  const before = session(syncedRow(stored, { dirty: false, diverged: talk('old').decisions }))
  const decided = cutOrphans(before, 4, has('m1', 'm3'))
  expect(decided.result).toBe(true)
  const { row } = committed(before, decided)
  expect(row).toMatchObject({ dirty: true, local: { cursor: 5, conversation: talk('m1') } })
  expect(row?.diverged?.map(({ messageId }) => messageId)).toEqual(['old', 'm2', 'm3'])
})

test('R8 R1 with nothing to cut nothing moves: not the cursor, and no tab has to look again', () => {
  const whole = session(syncedRow(stored))
  const without = session(syncedRow(snapshot({ cursor: 4 })))
  for (const each of [whole, without, session(undefined)]) {
    expect(cutOrphans(each, 4, has('m1', 'm2', 'm3'))).toEqual({ result: false })
  }
})

test('R8 what was saved after the messages were looked for is not cut', () => {
  expect(cutOrphans(session(syncedRow(stored)), 3, has())).toEqual({ result: false })
})

test('G8 nothing is cut from a session that was deleted: it waits for its export', () => {
  const deleted = session(syncedRow(stored, { deleted: { at: 1, unsynced: true } }))
  expect(cutOrphans(deleted, 4, has())).toEqual({ result: false })
})
