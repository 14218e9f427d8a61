import { describe, expect, test } from 'vitest'
import {
  type AskedSave,
  acceptClaimAnswer,
  giveUpWon,
  markTold,
  raiseAttention,
  refuseClaim,
  releaseClaim,
  retryRefused,
  sendClaim,
  settleClaim,
  startWonClaim,
  withdrawClaim,
} from '../../../src/core/claim-lifecycle.ts'
import type { ClaimState, DeviceSession } from '../../../src/core/device-session.ts'
import type { ClaimAnswer } from '../../../src/protocol/put-claim.ts'
import {
  claimAnswer,
  claimRow,
  committed,
  confirmation,
  EPOCH,
  etagAt,
  row,
  session,
  snapshot,
  syncedRow,
  talk,
  view,
} from './sessions.ts'

/** By the device's clock. */
const NOW = 60
const accept = (held: DeviceSession, claimId: string, answer: ClaimAnswer, asking: AskedSave | undefined) =>
  acceptClaimAnswer(held, claimId, answer, asking, NOW)
const start = (held: DeviceSession, claimId: string) => startWonClaim(held, claimId, NOW)

const stored = snapshot({ cursor: 4, conversation: talk('m1'), confirmations: [confirmation()] })
const asked = {
  snapshot: { ...stored, cursor: 5, confirmations: [confirmation({ status: 'approving' })] },
  expectedCursor: 4,
}
/** The server as the claim left it: one above what this device stands on. */
const claimed = { ...stored, cursor: 5, confirmations: [confirmation({ status: 'approving' })] }
const won = claimAnswer('won', claimed, { etagBefore: etagAt(4) })
const sent = session(syncedRow(stored), claimRow())
const STATES: readonly ClaimState[] = [
  'waiting',
  'sent',
  'won',
  'running',
  'attention',
  'settled',
  'lost',
  'expired',
  'refused',
  'withdrawn',
  'released',
  'taken-over',
]
const but = (...states: readonly ClaimState[]) => STATES.filter((state) => !states.includes(state))

describe('a claim that won', () => {
  test('K4 with the cursor still the expected one, exactly what was asked is stored, and it runs', () => {
    const decided = accept(sent, 'c1', won, asked)
    expect(decided.result).toEqual({ kind: 'run' })
    expect(committed(sent, decided).claims[0]).toMatchObject({ state: 'running', startedAt: NOW })
    const after = committed(sent, decided)
    expect(after.row?.local).toEqual(asked.snapshot)
    expect(after.claims[0]).toMatchObject({ state: 'running', attempt: 0 })
  })

  test('K4 R6 the answer is the base when the server stood at ours, and nothing is left to push', () => {
    const { row: next } = committed(sent, accept(sent, 'c1', won, asked))
    expect(next?.base).toEqual({ snapshot: claimed, etag: etagAt(5), cursor: 5, head: 0 })
    expect(next?.dirty).toBe(false)
    expect(next?.left).toEqual({ 'confirm-1': EPOCH })
  })

  test('K4 R6 R2 else the base stays, and the session is dirty', () => {
    const elsewhere = claimAnswer('won', { ...claimed, cursor: 9 }, { etagBefore: etagAt(8) })
    const { row: next } = committed(sent, accept(sent, 'c1', elsewhere, asked))
    expect(next?.base).toEqual(sent.row?.base)
    expect(next?.dirty).toBe(true)
  })

  test('K4 R2 what was unsynced before stays unsynced', () => {
    const unsynced = { ...stored, conversation: talk('m1', 'm2') }
    const dirty = session({ ...syncedRow(stored), local: unsynced, dirty: true }, claimRow())
    const more = { ...asked, snapshot: { ...asked.snapshot, conversation: talk('m1', 'm2') } }
    const { row: next } = committed(dirty, accept(dirty, 'c1', won, more))
    expect(next).toMatchObject({ dirty: true, base: { cursor: 5 }, local: more.snapshot })
  })

  test('K4 R2 a clean session that saved more than the claim is dirty', () => {
    const more = { ...asked, snapshot: { ...asked.snapshot, conversation: talk('m1', 'm2') } }
    const { row: next } = committed(sent, accept(sent, 'c1', won, more))
    expect(next).toMatchObject({ dirty: true, base: { cursor: 5 } })
  })

  test('R7 what the save does not show stays, though it is stored as it was asked otherwise', () => {
    const other = confirmation({ token: 'other', toolCallId: 'app-2' })
    const held = session(syncedRow({ ...stored, confirmations: [confirmation(), other] }), claimRow())
    const { row: next } = committed(held, accept(held, 'c1', won, asked))
    expect(next?.local?.confirmations).toEqual([confirmation({ status: 'approving' }), other])
  })

  test('R9 a claim that is the first save with a conversation sets its initial state', () => {
    const first = session(row(), claimRow())
    const asking = { snapshot: asked.snapshot, expectedCursor: undefined }
    const { row: next } = committed(first, accept(first, 'c1', claimAnswer('won', null), asking))
    expect(next).toMatchObject({ initial: 'idle', local: asked.snapshot, dirty: true, confirmed: true })
  })

  test('K4 with the local cursor moved it runs from its row: nothing of the other save is overwritten', () => {
    const moved = session({ ...syncedRow(stored), local: { ...stored, cursor: 5 }, dirty: true }, claimRow())
    const decided = accept(moved, 'c1', won, asked)
    expect(decided.result).toEqual({ kind: 'won' })
    const after = committed(moved, decided)
    expect(after.claims[0]).toMatchObject({ state: 'won', wonAt: NOW })
    expect(after.row?.local).toEqual(moved.row?.local)
  })

  test('K4 the tab that clicked still runs it when another has stored the answer, nobody else does', () => {
    const held = session(syncedRow(stored), claimRow({ state: 'won' }))
    expect(accept(held, 'c1', won, asked).result).toEqual({ kind: 'run' })
    expect(accept(held, 'c1', won, undefined)).toEqual({ result: { kind: 'stale' } })
  })

  test('K7 a dispatcher only stores that it won', () => {
    const decided = accept(sent, 'c1', claimAnswer('won', claimed, { claim: view({ attempt: 2 }) }), undefined)
    expect(decided.result).toEqual({ kind: 'won' })
    expect(committed(sent, decided).claims[0]).toMatchObject({ state: 'won', attempt: 2 })
  })

  test('K9 a decision that won is that of the person whom the server read from the access token', () => {
    const answered = claimAnswer('won', claimed, { claim: view({ sub: 'bob' }) })
    expect(committed(sent, accept(sent, 'c1', answered, undefined)).claims[0]).toMatchObject({ sub: 'bob' })
    const lost = claimAnswer('lost', claimed, { claim: view({ sub: 'bob', device: 'B' }) })
    expect(committed(sent, accept(sent, 'c1', lost, undefined)).claims[0]).toMatchObject({ sub: 'ann' })
  })

  test.each(but('sent', 'won'))('G2 K4 nothing is started from %s', (state) => {
    const held = session(syncedRow(stored), claimRow({ state }))
    expect(accept(held, 'c1', won, asked)).toEqual({ result: { kind: 'stale' } })
  })

  test('G1 K8 a late win is nothing when a later attempt is known', () => {
    const claims = { 'confirm-1': view({ status: 'pending', attempt: 1 }) }
    const held = session({ ...syncedRow(stored), claims }, claimRow())
    expect(accept(held, 'c1', won, asked)).toEqual({ result: { kind: 'stale' } })
  })

  test('G8 nothing is started in a session that is gone, deleted or another', () => {
    const stale = { result: { kind: 'stale' } }
    expect(accept(session(undefined, claimRow()), 'c1', won, asked)).toEqual(stale)
    const deleted = session({ ...syncedRow(stored), deleted: { at: 1, unsynced: true } }, claimRow())
    expect(accept(deleted, 'c1', won, asked)).toEqual(stale)
    expect(accept(sent, 'c1', { ...won, incarnation: 'other' }, asked)).toEqual(stale)
    expect(accept(sent, 'unknown', won, asked)).toEqual(stale)
  })
})

describe('a claim that did not win', () => {
  test.each(['lost', 'expired'] as const)(
    'K4 R10 %s: the token shows what the claim says, the cursor rises',
    (result) => {
      const status = result === 'lost' ? 'rejecting' : 'expired'
      const lost = claimAnswer(result, null, { claim: view({ claimId: 'c2', status }) })
      const unsynced = { ...stored, conversation: talk('m1', 'm2') }
      const dirty = session({ ...syncedRow(stored), local: unsynced, dirty: true }, claimRow())
      const decided = accept(dirty, 'c1', lost, asked)
      expect(decided.result).toEqual({ kind: 'lost' })
      const after = committed(dirty, decided)
      expect(after.claims[0]?.state).toBe(result)
      expect(after.row).toMatchObject({
        dirty: true,
        base: dirty.row?.base,
        local: { cursor: 5, conversation: talk('m1', 'm2'), confirmations: [{ status }] },
      })
    },
  )

  test('R10 the cursor rises also where the status was known', () => {
    const known = session(syncedRow({ ...stored, confirmations: [confirmation({ status: 'approved' })] }), claimRow())
    const lost = claimAnswer('lost', null, { claim: view({ claimId: 'c2' }) })
    const { row: next } = committed(known, accept(known, 'c1', lost, asked))
    expect(next?.local).toMatchObject({ cursor: 5, confirmations: [{ status: 'approved' }] })
  })

  test('R10 a token that the snapshot does not show, or no snapshot, is no obstacle', () => {
    const lost = claimAnswer('lost', null, { claim: view({ claimId: 'c2' }) })
    const without = session(syncedRow({ ...stored, confirmations: [] }), claimRow())
    const { row: next } = committed(without, accept(without, 'c1', lost, asked))
    expect(next?.local).toEqual({ ...stored, confirmations: [], cursor: 5 })
    const bare = session(row(), claimRow())
    const after = committed(bare, accept(bare, 'c1', lost, asked))
    expect(after.row?.local).toBeUndefined()
    expect(after.claims[0]?.state).toBe('lost')
  })

  test('K8 a claim that was given up shows the token pending again', () => {
    const approving = session(
      syncedRow({ ...stored, confirmations: [confirmation({ status: 'approving' })] }),
      claimRow(),
    )
    const lost = claimAnswer('lost', null, { claim: view({ claimId: undefined, status: 'pending', attempt: 1 }) })
    const { row: next } = committed(approving, accept(approving, 'c1', lost, asked))
    expect(next?.local?.confirmations[0]?.status).toBe('pending')
  })

  test('K4 refused: the row says why, the snapshot stays, and a click may replace it', () => {
    const problem = { code: 'not-expired', message: 'Not yet.', retryable: true, at: 50 }
    const refused = claimAnswer('refused', null, { claim: view({ claimId: undefined, status: 'pending' }), problem })
    const decided = accept(sent, 'c1', refused, asked)
    expect(decided.result).toEqual({ kind: 'refused' })
    const after = committed(sent, decided)
    expect(after.claims[0]).toMatchObject({ state: 'refused', problem })
    expect(after.row?.local).toEqual(stored)
  })

  test('I1 a refusal does not say that the server holds the session', () => {
    const fresh = session(row({ local: stored }), claimRow())
    const refused = claimAnswer('refused', null, { claim: view({ claimId: undefined, status: 'pending' }) })
    expect(committed(fresh, accept(fresh, 'c1', refused, asked)).row?.confirmed).toBe(false)
    expect(committed(fresh, accept(fresh, 'c1', won, undefined)).row?.confirmed).toBe(true)
  })
})

describe('an own decision', () => {
  const own = session({ ...syncedRow(stored), left: {} }, claimRow({ own: true, state: 'running' }))

  test('K1 K9 delivered, its token has left, and it is not asked again', () => {
    const decided = accept(own, 'c1', won, undefined)
    expect(decided.result).toEqual({ kind: 'won' })
    const after = committed(own, decided)
    expect(after.row).toMatchObject({ left: { 'confirm-1': EPOCH }, claims: { 'confirm-1': { claimId: 'c1' } } })
    expect(after.claims).toEqual(own.claims)
  })

  test('K9 put off by the server it stays as it is', () => {
    const problem = { code: 'not-expired', message: 'Not yet.', retryable: true, at: 50 }
    const answer = claimAnswer('refused', null, { problem })
    expect(accept(own, 'c1', answer, undefined)).toEqual({ result: { kind: 'refused' } })
  })

  test('G9 contradicted by the server it is listed with a problem, and goes on', () => {
    const lost = claimAnswer('lost', null, { claim: view({ claimId: 'c2', device: 'B' }) })
    const after = committed(own, accept(own, 'c1', lost, undefined))
    expect(after.claims[0]).toMatchObject({
      state: 'running',
      told: false,
      problem: { code: 'conflict', retryable: false },
    })
    const refused = accept(own, 'c1', claimAnswer('refused', null), undefined)
    expect(committed(own, refused).claims[0]?.problem?.code).toBe('conflict')
    const settled = session(own.row, claimRow({ own: true, state: 'settled', outcome: 'approved' }))
    expect(committed(settled, accept(settled, 'c1', lost, undefined)).claims[0]?.told).toBe(true)
  })
})

describe('on its way', () => {
  test('K3 a waiting claim is sent once, and asked again as it is', () => {
    const waiting = session(syncedRow(stored), claimRow({ state: 'waiting' }))
    const first = sendClaim(waiting, 'c1')
    expect(first.result?.state).toBe('sent')
    expect(sendClaim(committed(waiting, first), 'c1')).toEqual({ result: first.result })
  })

  test('K3 an own decision is delivered from any state, and changes in none', () => {
    for (const state of ['running', 'attention', 'settled'] as const) {
      const own = claimRow({ own: true, state })
      expect(sendClaim(session(row(), own), 'c1')).toEqual({ result: own })
    }
  })

  test('K1 the token of an own decision has left when it is sent, answer or not', () => {
    const own = session({ ...syncedRow(stored), left: {} }, claimRow({ own: true, state: 'running' }))
    const first = sendClaim(own, 'c1', EPOCH)
    expect(first.result).toEqual(own.claims[0])
    const after = committed(own, first)
    expect(after).toEqual({ ...own, row: { ...own.row, left: { 'confirm-1': EPOCH } } })
    expect(sendClaim(after, 'c1', '2000-b')).toEqual({ result: own.claims[0] })
  })

  test.each(['released', 'taken-over', 'lost'] as const)('K8 an own decision that is %s is not sent', (state) => {
    const own = session(syncedRow(stored), claimRow({ own: true, state }))
    expect(sendClaim(own, 'c1', EPOCH)).toEqual({ result: undefined })
  })

  test.each(but('waiting', 'sent'))('K3 nothing is sent from %s', (state) => {
    expect(sendClaim(session(row(), claimRow({ state })), 'c1')).toEqual({ result: undefined })
  })

  test('K3 a waiting click is taken back, one that may have been sent is not', () => {
    const waiting = session(row(), claimRow({ state: 'waiting' }))
    const withdrawn = withdrawClaim(waiting, 'c1')
    expect(withdrawn.result).toBe(true)
    expect(committed(waiting, withdrawn).claims[0]?.state).toBe('withdrawn')
    for (const state of but('waiting')) {
      expect(withdrawClaim(session(row(), claimRow({ state })), 'c1')).toEqual({ result: false })
    }
  })

  test('K4 a claim that the server cannot take is refused with the reason', () => {
    const problem = { code: 'too-large', message: 'Too large.', retryable: false, at: 50 }
    const refused = refuseClaim(sent, 'c1', problem)
    expect(refused.result).toBe(true)
    expect(committed(sent, refused).claims[0]).toMatchObject({ state: 'refused', problem })
    for (const state of but('waiting', 'sent', 'won', 'running', 'attention', 'settled')) {
      expect(refuseClaim(session(row(), claimRow({ state })), 'c1', problem)).toEqual({ result: false })
    }
  })

  test('G9 what ran here and the server refuses to hear of is kept with the reason until a person sends it again', () => {
    const problem = { code: 'forbidden', message: 'No.', retryable: false, at: 50 }
    for (const state of ['won', 'running', 'attention', 'settled'] as const) {
      const held = session(row(), claimRow({ own: true, state }))
      const kept = committed(held, refuseClaim(held, 'c1', problem))
      expect(kept.claims[0]).toMatchObject({ state, undeliverable: problem })
      expect(committed(kept, retryRefused(kept)).claims).toEqual(held.claims)
    }
    const told = session(row(), claimRow({ state: 'settled', told: true }))
    expect(refuseClaim(told, 'c1', problem)).toEqual({ result: false })
    expect(retryRefused(told)).toEqual({ result: false })
    const refused = session(row({ refused: { ...problem, writeId: 'w1' } }))
    expect(committed(refused, retryRefused(refused)).row?.refused).toBeUndefined()
  })

  test('G2 K7 a queued claim that won is started once', () => {
    const other = confirmation({ token: 'other', toolCallId: 'app-2' })
    const two = { ...stored, confirmations: [confirmation(), other] }
    const held = session(syncedRow(two), claimRow({ state: 'won' }))
    const first = start(held, 'c1')
    expect(first.result).toMatchObject({ state: 'running', startedAt: NOW })
    const after = committed(held, first)
    expect(after.row?.local).toMatchObject({ cursor: 5, confirmations: [{ status: 'approving' }, other] })
    expect(start(after, 'c1')).toEqual({ result: undefined })
  })

  test('R4 K7 starting what is shown as started already disturbs no tab', () => {
    const other = confirmation({ token: 'other', toolCallId: 'app-2' })
    const shown = syncedRow({ ...claimed, confirmations: [...claimed.confirmations, other] })
    const held = session(shown, claimRow({ state: 'won' }))
    expect(committed(held, start(held, 'c1')).row).toEqual(shown)
    const bare = session(row(), claimRow({ state: 'won' }))
    expect(committed(bare, start(bare, 'c1')).claims[0]?.state).toBe('running')
  })

  test('K7 K8 a claim that won is given back by a person before a page takes it, never after', () => {
    const problem = { code: 'given-back', message: 'No.', retryable: false, at: 50 }
    const held = session(syncedRow(stored), claimRow({ state: 'won' }))
    const given = committed(held, giveUpWon(held, 'c1', problem))
    expect(given.claims[0]).toMatchObject({ state: 'attention', problem })
    expect(start(given, 'c1')).toEqual({ result: undefined })
    expect(committed(given, releaseClaim(given, 'c1', claimAnswer('recorded', null))).claims[0]?.state).toBe('released')
    for (const state of but('won')) {
      expect(giveUpWon(session(syncedRow(stored), claimRow({ state })), 'c1', problem)).toEqual({ result: false })
    }
  })

  test('K5 storage settles what it hands out: no session waits for a save of it', () => {
    const held = session(syncedRow(stored), claimRow({ state: 'won', foreign: true }))
    expect(committed(held, start(held, 'c1')).claims[0]?.foreign).toBeUndefined()
  })

  test.each(but('won'))('G2 K7 nothing is started from %s', (state) => {
    expect(start(session(syncedRow(stored), claimRow({ state })), 'c1')).toEqual({ result: undefined })
  })

  test('G8 nothing is started in a deleted session', () => {
    const deleted = session({ ...syncedRow(stored), deleted: { at: 1, unsynced: true } }, claimRow({ state: 'won' }))
    expect(start(deleted, 'c1')).toEqual({ result: undefined })
  })
})

describe('its end', () => {
  const running = session(syncedRow(claimed), claimRow({ state: 'running' }))

  test('K6 the outcome is stored, and waits to be told', () => {
    const settling = settleClaim(running, 'c1', 'approved')
    expect(settling.result).toBe(true)
    const after = committed(running, settling)
    expect(after.claims[0]).toMatchObject({ state: 'settled', outcome: 'approved', told: false })
    expect(after.row).toMatchObject({ dirty: true, local: { cursor: 6, confirmations: [{ status: 'approved' }] } })
  })

  test.each(but('running', 'attention', 'released', 'taken-over'))('K6 nothing is settled from %s', (state) => {
    expect(settleClaim(session(syncedRow(claimed), claimRow({ state })), 'c1', 'approved')).toEqual({ result: false })
  })

  test('K8 a run that broke off is listed, and only a run', () => {
    const problem = { code: 'interrupted', message: '', retryable: false, at: 1 }
    const raised = raiseAttention(running, 'c1', problem)
    expect(raised.result).toBe(true)
    expect(committed(running, raised).claims[0]).toMatchObject({
      state: 'attention',
      problem,
    })
    for (const state of but('running')) {
      expect(raiseAttention(session(row(), claimRow({ state })), 'c1', undefined)).toEqual({ result: false })
    }
  })

  const settled = session(syncedRow(claimed), claimRow({ state: 'settled', outcome: 'approved' }))

  test.each(['recorded', 'lost', 'expired', 'refused'] as const)('K6 K8 a settlement that was %s is told', (result) => {
    const told = markTold(settled, 'c1', claimAnswer(result, null))
    expect(told.result).toBe(true)
    expect(committed(settled, told).claims[0]?.told).toBe(true)
  })

  test('K6 a settlement that the server put off is told again', () => {
    const problem = { code: 'claim-missing', message: '', retryable: true, at: 50 }
    expect(markTold(settled, 'c1', claimAnswer('refused', null, { problem }))).toEqual({ result: false })
  })

  test('what is not there is neither settled, told, listed, released, withdrawn nor refused', () => {
    const nothing = { result: false }
    const problem = { code: 'x', message: '', retryable: false, at: 1 }
    for (const held of [running, session(undefined, claimRow({ state: 'running' })), session(undefined)]) {
      const claimId = held.row ? 'unknown' : 'c1'
      expect(settleClaim(held, claimId, 'approved')).toEqual(nothing)
      expect(markTold(held, claimId, claimAnswer('recorded', null))).toEqual(nothing)
      expect(releaseClaim(held, claimId, claimAnswer('recorded', null))).toEqual(nothing)
      expect(raiseAttention(held, 'unknown', undefined)).toEqual(nothing)
      expect(withdrawClaim(held, claimId)).toEqual(nothing)
      expect(refuseClaim(held, claimId, problem)).toEqual(nothing)
      expect(start(held, claimId)).toEqual({ result: undefined })
    }
    const untold = session(undefined, claimRow({ state: 'settled' }))
    expect(markTold(untold, 'c1', claimAnswer('recorded', null))).toEqual(nothing)
  })

  test('K6 only a settlement is told', () => {
    expect(markTold(running, 'c1', claimAnswer('recorded', null))).toEqual({ result: false })
  })

  test.each(['running', 'attention'] as const)(
    'K8 released by the server from %s, the token is pending again',
    (state) => {
      const held = session(syncedRow(claimed), claimRow({ state }))
      const claim = view({ claimId: undefined, status: 'pending', attempt: 1 })
      const releasing = releaseClaim(held, 'c1', claimAnswer('recorded', null, { claim }))
      expect(releasing.result).toBe(true)
      const after = committed(held, releasing)
      expect(after.claims[0]).toMatchObject({ state: 'released', attempt: 0 })
      expect(after.row).toMatchObject({
        dirty: false,
        claims: { 'confirm-1': claim },
        local: { cursor: 6, confirmations: [{ status: 'pending' }] },
      })
    },
  )

  test('K8 not released by the server, it is not given back', () => {
    for (const result of ['lost', 'refused'] as const) {
      expect(releaseClaim(running, 'c1', claimAnswer(result, null))).toEqual({ result: false })
    }
  })

  test('K1 K8 without a server only a token that nobody else ever saw is given back', () => {
    const own = claimRow({ own: true, state: 'attention' })
    const fresh = session({ ...syncedRow(claimed), left: {} }, own)
    const after = committed(fresh, releaseClaim(fresh, 'c1', undefined))
    expect(after.claims[0]?.state).toBe('released')
    expect(after.row).toMatchObject({ dirty: true, local: { confirmations: [{ status: 'pending' }] } })
    expect(releaseClaim(session(syncedRow(claimed), own), 'c1', undefined)).toEqual({ result: false })
    expect(
      releaseClaim(session({ ...syncedRow(claimed), left: {} }, claimRow({ state: 'running' })), 'c1', undefined),
    ).toEqual({
      result: false,
    })
  })

  test.each(but('running', 'attention'))('K8 nothing is released from %s', (state) => {
    const held = session(syncedRow(claimed), claimRow({ state }))
    expect(releaseClaim(held, 'c1', claimAnswer('recorded', null))).toEqual({ result: false })
  })
})
