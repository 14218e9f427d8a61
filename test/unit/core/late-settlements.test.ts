import { expect, test } from 'vitest'
import { forgetTakenOver, raiseAttention, settleClaim } from '../../../src/core/claim-lifecycle.ts'
import { mergeClaimViews, takeClaimViews } from '../../../src/core/claim-order.ts'
import { isForgotten } from '../../../src/core/claim-rows.ts'
import { seeRuns, unseenRuns } from '../../../src/core/late-settlements.ts'
import { tokensInDoubt } from '../../../src/core/tokens-in-doubt.ts'
import { claimRow, committed, confirmation, row, session, snapshot, syncedRow, view } from './sessions.ts'

const late = { attempt: 0, claimId: 'c1', device: 'A', sub: 'ann', at: 9, outcome: 'approved' } as const
const open = view({ status: 'pending', attempt: 1, claimId: undefined, device: undefined, late: [late] })

test('K8 a run beside what its token stands for is told once, until the person has seen it', () => {
  const before = session(row({ claims: { 'confirm-1': open } }))
  expect(before.row && unseenRuns(before.row)).toEqual([{ view: open, late }])
  const after = committed(before, seeRuns(before))
  expect(after.row && unseenRuns(after.row)).toEqual([])
  expect(seeRuns(after)).toEqual({ result: false })
  const another = { ...open, late: [late, { ...late, claimId: 'c0' }] }
  expect(unseenRuns({ ...row(), seenLate: after.row?.seenLate, claims: { 'confirm-1': another } })).toHaveLength(1)
})

test('K8 what was denied ran nothing, and what the token stands for after all is no other run', () => {
  const denied = { ...open, late: [{ ...late, outcome: 'rejected' as const }] }
  expect(unseenRuns(row({ claims: { 'confirm-1': denied } }))).toEqual([])
  const held = view({ status: 'approved', late: [late] })
  expect(unseenRuns(row({ claims: { 'confirm-1': held } }))).toEqual([])
})

test('K8 R5 a late answer takes back nothing that came late', () => {
  const heard = mergeClaimViews({ 'confirm-1': open }, [view({ status: 'pending', attempt: 1 })])
  expect(heard['confirm-1']?.late).toEqual([late])
  const shown = snapshot({ confirmations: [confirmation({ status: 'approved' })] })
  const settled = takeClaimViews({ 'confirm-1': open }, { claims: [], snapshot: shown })
  expect(settled['confirm-1']).toMatchObject({ status: 'approved', late: [late] })
})

test('I5 G2 what another device told of a run first is asserted by the one that ran it: it is no second run', () => {
  const settled = claimRow({ state: 'settled', outcome: 'approved', told: false })
  const told = view({ status: 'approved', claimId: undefined, device: undefined })
  const stored = snapshot({ cursor: 4, confirmations: [confirmation()] })
  const known = (change: Parameters<typeof view>[0]) =>
    session(syncedRow(stored, { claims: { 'confirm-1': { ...told, ...change } } }), settled)
  expect(isForgotten(known({}), settled, '2-b')).toBe(true)
  for (const change of [{ claimId: 'c2' }, { attempt: 1 }, { status: 'rejected' as const }]) {
    expect(isForgotten(known(change), settled, '2-b')).toBe(false)
  }
})

test('I5 a token in doubt is the person’s to clear, unless this device holds it or was refused for good', () => {
  const stored = snapshot({ cursor: 4, confirmations: [confirmation()] })
  const doubtful = syncedRow(stored, { claims: { 'confirm-1': view({ doubt: true }) } })
  const problem = { code: 'snapshot-invalid', message: 'No.', retryable: false, at: 1 }
  expect(tokensInDoubt(session(doubtful))).toEqual([confirmation()])
  expect(tokensInDoubt(session(doubtful, claimRow({ state: 'refused' })))).toHaveLength(1)
  expect(tokensInDoubt(session(doubtful, claimRow({ state: 'running' })))).toEqual([])
  expect(tokensInDoubt(session(doubtful, claimRow({ state: 'running', undeliverable: problem })))).toHaveLength(1)
  expect(tokensInDoubt(session(row({ claims: doubtful.claims })))).toEqual([])
})

test('K8 a run that was taken over stays so when it breaks off; a person says that it ran, or that it did not', () => {
  const problem = { code: 'interrupted', message: 'The page ended.', retryable: false, at: 1 }
  const over = claimRow({ state: 'taken-over', startedAt: 7 })
  const before = session(syncedRow(snapshot({ cursor: 4, confirmations: [confirmation()] })), over)
  const after = committed(before, raiseAttention(before, 'c1', problem))
  expect(after.claims).toEqual([{ ...over, problem }])
  expect(committed(after, forgetTakenOver(after, 'c1')).claims[0]).toMatchObject({ state: 'released' })
  const ran = committed(after, settleClaim(after, 'c1', 'approved'))
  expect(ran.claims[0]).toMatchObject({ state: 'settled', outcome: 'approved', told: false })
  expect(ran.row).toEqual(before.row)
  // One that never began asks for nothing, and one that is live is not forgotten.
  const never = session(before.row, claimRow({ state: 'taken-over', wonAt: 7 }))
  expect(raiseAttention(never, 'c1', problem)).toEqual({ result: false })
  const live = session(before.row, claimRow({ state: 'attention', startedAt: 7 }))
  expect(forgetTakenOver(live, 'c1')).toEqual({ result: false })
})
