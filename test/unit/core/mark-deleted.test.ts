import { expect, test } from 'vitest'
import { applyAnswer } from '../../../src/core/apply-answer.ts'
import type { DeleteRow } from '../../../src/core/device-session.ts'
import { markDeleted } from '../../../src/core/mark-deleted.ts'
import { answer, claimRow, EPOCH, session, snapshot, syncedRow } from './sessions.ts'

test('G8 a deleted session of which everything is sent goes, with clicks that were never answered', () => {
  for (const state of ['waiting', 'sent', 'withdrawn'] as const) {
    const decided = markDeleted(session(syncedRow(snapshot()), claimRow({ state })), 5, false)
    expect(decided).toMatchObject({ result: 'gone', change: { row: null } })
  }
})

test.each(['running', 'attention'] as const)(
  'K6 K8 G8 a deleted session with a claim in %s is kept: nobody knows yet what the run did',
  (state) => {
    const decided = markDeleted(session(syncedRow(snapshot()), claimRow({ state })), 5, false)
    expect(decided).toMatchObject({ result: 'kept', change: { row: { deleted: { at: 5, unsynced: true } } } })
    expect(decided.change).not.toHaveProperty('removeClaims')
  },
)

test('I3 G8 an answer of the incarnation that was deleted here does not reach the one that was begun after it', () => {
  const begun = { ...syncedRow(snapshot()), incarnation: 'new', confirmed: false, base: undefined }
  const deletes: readonly DeleteRow[] = [{ kind: 'delete', sessionId: 'session-1', incarnation: 'inc', deviceAt: 1 }]
  const context = { sessionId: 'session-1', epoch: EPOCH, holdBack: false, now: 2 }
  expect(applyAnswer({ ...session(begun), deletes }, answer(snapshot()), context).change).toBeUndefined()
  expect(applyAnswer(session(begun), answer(snapshot()), context).change).toBeDefined()
})
