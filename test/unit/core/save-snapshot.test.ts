import { describe, expect, test } from 'vitest'
import type { Confirmation, Snapshot } from '../../../src/contract/session-snapshot.ts'
import type { ClaimState, DeviceSession } from '../../../src/core/device-session.ts'
import { type ClaimRoute, createSessionRow, isIncarnation, saveSnapshot } from '../../../src/core/save-snapshot.ts'
import { isRejoinError, type RejoinErrorCode } from '../../../src/errors.ts'
import {
  claimRow,
  committed,
  confirmation,
  decision,
  row,
  saveRequest,
  session,
  snapshot,
  syncedRow,
  talk,
  view,
} from './sessions.ts'

const route: ClaimRoute = { claimId: 'c9', via: 'server', lasting: true, deviceAt: 70, foreign: false }
const stored = snapshot({ cursor: 4, conversation: talk('m1'), confirmations: [confirmation()] })
const synced = session(syncedRow(stored))

function shows(status: Confirmation['status'], change: Partial<Snapshot> = {}): Snapshot {
  return { ...stored, cursor: 5, confirmations: [confirmation({ status })], ...change }
}

function codeOf(run: () => unknown): RejoinErrorCode | undefined {
  try {
    run()
  } catch (error) {
    if (isRejoinError(error)) return error.code
    throw error
  }
  return undefined
}

describe('compare and set', () => {
  test('I1 R9 the first save makes the row, under its incarnation and initial state', () => {
    const asked = snapshot({ cursor: 1, conversation: talk('m1') })
    const request = saveRequest(asked, { expectedCursor: undefined, knownIncarnation: undefined })
    const { change, result } = saveSnapshot(session(undefined), request)
    expect(result).toEqual({ kind: 'stored', incarnation: 'fresh' })
    expect(change?.row).toEqual({
      sessionId: 'session-1',
      incarnation: 'fresh',
      confirmed: false,
      left: {},
      claims: {},
      acked: 0,
      pulled: 0,
      local: asked,
      initial: 'idle',
      dirty: true,
      refused: undefined,
    })
  })

  test('I1 a row that a message makes knows nothing of the server, and has nothing to push', () => {
    expect(createSessionRow('session-1', 'inc')).toMatchObject({ confirmed: false, dirty: false })
  })

  test('R1 a cursor of 0 is a cursor', () => {
    const first = session(row({ local: snapshot({ cursor: 0 }) }))
    expect(saveSnapshot(first, saveRequest(snapshot({ cursor: 1 }))).result.kind).toBe('stored')
  })

  test('I1 a first save finds the row that a first message made', () => {
    const request = saveRequest(snapshot(), { expectedCursor: undefined })
    expect(saveSnapshot(session(row()), request).result).toEqual({ kind: 'stored', incarnation: 'inc' })
  })

  test('R1 R2 a save on the stored cursor is stored and makes the row dirty', () => {
    const asked = shows('pending', { conversation: talk('m1', 'm2') })
    const { change, result } = saveSnapshot(synced, saveRequest(asked))
    expect(result).toEqual({ kind: 'stored', incarnation: 'inc' })
    expect(change?.row).toMatchObject({ local: asked, dirty: true, base: synced.row?.base })
  })

  test.each([
    ['an older cursor', 3],
    ['a newer cursor', 5],
    ['none, though there is a snapshot', undefined],
  ])('R1 a save that expects %s is a conflict and writes nothing', (_, expectedCursor) => {
    const request = saveRequest(shows('pending', { cursor: 9 }), { expectedCursor })
    expect(saveSnapshot(synced, request)).toEqual({ result: { kind: 'conflict' } })
  })

  test('G8 a save that expects a cursor of a session that is gone is a conflict', () => {
    expect(saveSnapshot(session(undefined), saveRequest(shows('pending')))).toEqual({ result: { kind: 'conflict' } })
  })

  test('I3 G8 a save against another incarnation, or none, is a conflict', () => {
    const other = saveRequest(shows('pending'), { knownIncarnation: 'other' })
    expect(saveSnapshot(synced, other)).toEqual({ result: { kind: 'conflict' } })
    const first = saveRequest(snapshot(), { expectedCursor: undefined, knownIncarnation: 'inc' })
    expect(saveSnapshot(session(undefined), first)).toEqual({ result: { kind: 'conflict' } })
  })

  test('I2 a tab that knows the incarnation that was given up goes on', () => {
    const adopted = syncedRow(stored, { incarnation: 'theirs', was: ['inc'] })
    expect(isIncarnation(adopted, 'inc')).toBe(true)
    expect(saveSnapshot(session(adopted), saveRequest(shows('pending'))).result).toEqual({
      kind: 'stored',
      incarnation: 'theirs',
    })
  })

  test('G8 a deleted session takes no save', () => {
    const deleted = session(syncedRow(stored, { deleted: { at: 1, unsynced: true } }))
    expect(saveSnapshot(deleted, saveRequest(shows('pending')))).toEqual({ result: { kind: 'conflict' } })
  })

  test.each([undefined, 'inc'])(
    'G8 a new session under the id of a deleted one is told what is in the way, %s',
    (known) => {
      const deleted = session(syncedRow(stored, { deleted: { at: 1, unsynced: true } }))
      const first = saveRequest(snapshot(), { expectedCursor: undefined, knownIncarnation: known })
      expect(() => saveSnapshot(deleted, first)).toThrow(expect.objectContaining({ code: 'deleted' }))
    },
  )

  test('a cursor that does not advance, or is no cursor, is snapshot-invalid', () => {
    expect(codeOf(() => saveSnapshot(synced, saveRequest(shows('pending'), { expectedCursor: 5 })))).toBe(
      'snapshot-invalid',
    )
    expect(codeOf(() => saveSnapshot(synced, saveRequest(shows('pending'), { expectedCursor: -1 })))).toBe(
      'snapshot-invalid',
    )
    expect(codeOf(() => saveSnapshot(synced, saveRequest(shows('pending'), { expectedCursor: 1.5 })))).toBe(
      'snapshot-invalid',
    )
  })

  test('another definition or revision is definition-mismatch', () => {
    const asked = shows('pending', { definitionRevision: 2 })
    expect(codeOf(() => saveSnapshot(synced, saveRequest(asked)))).toBe('definition-mismatch')
  })

  test('R9 G6 decisions that do not chain from the stored initial state are snapshot-invalid', () => {
    const broken = { state: 's2', decisions: talk('m1', 'm2').decisions.slice(1) }
    const asked = shows('pending', { conversation: broken })
    expect(codeOf(() => saveSnapshot(synced, saveRequest(asked)))).toBe('snapshot-invalid')
  })

  test('R9 the initial state stays the one of the first conversation', () => {
    const pruned = { state: 's1', decisions: [decision({ messageId: 'm1', fromState: 'idle', toState: 's1' })] }
    const { change } = saveSnapshot(synced, saveRequest(shows('pending', { conversation: pruned })))
    expect(change?.row?.initial).toBe('idle')
  })

  test('a new save lets a refused session be sent again', () => {
    const refused = { code: 'too-large', message: '', retryable: false, at: 1, writeId: 'w0' }
    const { change } = saveSnapshot(session(syncedRow(stored, { refused })), saveRequest(shows('pending')))
    expect(change?.row?.refused).toBeUndefined()
  })
})

describe('statuses', () => {
  test('R7 a token shown too early, or left out unfinished, is stored as it is known', () => {
    const known = snapshot({
      cursor: 4,
      confirmations: [
        confirmation({ token: 'a', toolCallId: 'a', status: 'approving' }),
        confirmation({ token: 'b', toolCallId: 'b' }),
        confirmation({ token: 'c', toolCallId: 'c', status: 'rejected' }),
      ],
    })
    const asked = snapshot({
      cursor: 5,
      confirmations: [
        confirmation({ token: 'a', toolCallId: 'a' }),
        confirmation({ token: 'c', toolCallId: 'c', status: 'approved' }),
      ],
    })
    const { change } = saveSnapshot(session(syncedRow(known)), saveRequest(asked))
    expect(change?.row?.local?.confirmations.map(({ token, status }) => [token, status])).toEqual([
      ['a', 'approving'],
      ['c', 'rejected'],
      ['b', 'pending'],
    ])
  })

  test('a second token for one tool call is snapshot-invalid', () => {
    const asked = shows('pending', { confirmations: [confirmation(), confirmation({ token: 'second' })] })
    expect(codeOf(() => saveSnapshot(synced, saveRequest(asked)))).toBe('snapshot-invalid')
  })

  test('G6 more open confirmations than the envelope holds are too-large', () => {
    const many = (by: string) =>
      Array.from({ length: 600 }, (_, n) => confirmation({ token: `${by}${n}`, toolCallId: `call-${by}${n}` }))
    const known = session(syncedRow(snapshot({ cursor: 4, confirmations: many('a') })))
    const asked = snapshot({ cursor: 5, confirmations: many('b') })
    expect(codeOf(() => saveSnapshot(known, saveRequest(asked)))).toBe('too-large')
  })

  test('K2 two decisions in one save, or one that nobody asked for, are snapshot-invalid', () => {
    const known = snapshot({
      cursor: 4,
      confirmations: ['a', 'b'].map((token) => confirmation({ token, toolCallId: token })),
    })
    const both = snapshot({
      cursor: 5,
      confirmations: ['a', 'b'].map((token) => confirmation({ token, toolCallId: token, status: 'approving' })),
    })
    expect(codeOf(() => saveSnapshot(session(syncedRow(known)), saveRequest(both)))).toBe('snapshot-invalid')
    expect(codeOf(() => saveSnapshot(synced, saveRequest(shows('approved'))))).toBe('snapshot-invalid')
  })

  test('K9 records of the past come in with a claim each, told to the server before the snapshot', () => {
    const past = [
      confirmation({ token: 'a', toolCallId: 'a', status: 'approved' }),
      confirmation({ token: 'b', toolCallId: 'b', status: 'expired' }),
    ]
    const asked = snapshot({
      confirmations: [...past, confirmation({ token: 'c', toolCallId: 'c', status: 'rejected' })],
    })
    const request = saveRequest(asked, { expectedCursor: undefined, knownIncarnation: undefined })
    const { change, result } = saveSnapshot(session(undefined), request)
    expect(result.kind).toBe('stored')
    expect(change?.putClaims).toHaveLength(2)
    expect(change?.putClaims?.[0]).toMatchObject({
      token: 'a',
      claimId: 'fresh.0',
      want: 'approving',
      own: true,
      state: 'settled',
      outcome: 'approved',
      told: false,
    })
    expect(change?.putClaims?.[1]).toMatchObject({ claimId: 'fresh.1', want: 'expiring', outcome: 'expired' })
  })

  test('K9 a token that the server spoke of is no record of the past', () => {
    const pruned = session(
      syncedRow(snapshot({ cursor: 4 }), { claims: { 'confirm-1': view({ status: 'approved' }) } }),
    )
    const { change } = saveSnapshot(
      pruned,
      saveRequest(snapshot({ cursor: 5, confirmations: [confirmation({ status: 'approved' })] })),
    )
    expect(change?.putClaims).toEqual([])
  })

  test('K10 the rows of tokens that left the snapshot go with the save that dropped them', () => {
    const done = claimRow({ state: 'settled', told: true, outcome: 'approved' })
    const known = session(
      syncedRow(snapshot({ cursor: 4, confirmations: [confirmation({ status: 'approved' })] })),
      done,
    )
    const { change } = saveSnapshot(known, saveRequest(snapshot({ cursor: 5 })))
    expect(change?.removeClaims).toEqual(['c1'])
  })
})

describe('claims', () => {
  test('K2 without a route a claim writes nothing and says who would decide', () => {
    expect(saveSnapshot(synced, saveRequest(shows('approving')))).toEqual({
      result: {
        kind: 'needs-claim',
        confirmation: confirmation({ status: 'approving' }),
        want: 'approving',
        own: false,
      },
    })
    const fresh = session({ ...syncedRow(stored), left: {} })
    expect(saveSnapshot(fresh, saveRequest(shows('approving'))).result).toMatchObject({ own: true })
  })

  test('K1 K3 a token that left is the server’s: the row is sent, and the snapshot stays', () => {
    const { change, result } = saveSnapshot(synced, saveRequest(shows('approving'), { route }))
    expect(result).toMatchObject({
      kind: 'ask',
      claim: { claimId: 'c9', state: 'sent', own: false, told: false, expectedCursor: 4 },
    })
    expect(change?.row).toBeUndefined()
    expect(change?.putClaims?.[0]?.confirmation.status).toBe('pending')
  })

  test.each(['offline', 'device'] as const)('K1 K3 a token that left waits when the way is %s', (via) => {
    const { change, result } = saveSnapshot(synced, saveRequest(shows('approving'), { route: { ...route, via } }))
    expect(result).toEqual({ kind: 'queued' })
    expect(change?.putClaims).toMatchObject([{ state: 'waiting', own: false }])
    expect(change?.row).toBeUndefined()
  })

  test.each(['server', 'offline', 'device'] as const)(
    'K1 G11 a token that never left is decided here at once, the way being %s',
    (via) => {
      const fresh = session({ ...syncedRow(stored), left: {} })
      const { change, result } = saveSnapshot(fresh, saveRequest(shows('approving'), { route: { ...route, via } }))
      expect(result).toMatchObject({ kind: 'run', claim: { own: true, state: 'running', attempt: 0, startedAt: 70 } })
      expect(change?.row).toMatchObject({ dirty: true, local: shows('approving') })
    },
  )

  test('K1 storage that does not last decides nothing while there is a server', () => {
    const fresh = session({ ...syncedRow(stored), left: {} })
    const decide = (via: ClaimRoute['via']) =>
      saveSnapshot(fresh, saveRequest(shows('approving'), { route: { ...route, via, lasting: false } })).result.kind
    expect(decide('server')).toBe('ask')
    expect(decide('offline')).toBe('queued')
    expect(decide('device')).toBe('run')
  })

  test('K1 a token left, base or not', () => {
    const lostBase = session({ ...syncedRow(stored), base: undefined })
    expect(saveSnapshot(lostBase, saveRequest(shows('approving'), { route })).result.kind).toBe('ask')
  })

  test('K3 a first save that is a claim leaves a row for its decision to stand on', () => {
    const request = saveRequest(snapshot({ cursor: 1, confirmations: [confirmation({ status: 'approving' })] }), {
      expectedCursor: undefined,
      knownIncarnation: undefined,
      route: { ...route, lasting: false },
    })
    const { change, result } = saveSnapshot(session(undefined), request)
    expect(result.kind).toBe('ask')
    expect(change?.row).toEqual(createSessionRow('session-1', 'fresh'))
  })

  const LIVE: readonly ClaimState[] = ['waiting', 'sent', 'won', 'running', 'attention']

  test.each(LIVE)('K3 the same decision again is queued already while it is %s', (state) => {
    const held = session(synced.row, claimRow({ state }))
    expect(saveSnapshot(held, saveRequest(shows('approving'), { route }))).toEqual({ result: { kind: 'queued' } })
  })

  test.each(LIVE.slice(1))('K3 R10 the other decision is false while one is %s, and the cursor is raised', (state) => {
    const held = session(synced.row, claimRow({ state }))
    const { change, result } = saveSnapshot(held, saveRequest(shows('rejecting'), { route }))
    expect(result).toEqual({ kind: 'conflict' })
    expect(change?.row).toMatchObject({ dirty: false, local: { cursor: 5, confirmations: [{ status: 'pending' }] } })
    expect(change?.putClaims).toBeUndefined()
  })

  test('K3 the other decision replaces one that waits', () => {
    const held = session(synced.row, claimRow({ state: 'waiting' }))
    const after = committed(held, saveSnapshot(held, saveRequest(shows('rejecting'), { route })))
    expect(after.claims).toMatchObject([{ claimId: 'c9', want: 'rejecting', state: 'sent' }])
  })

  test('K3 a click replaces what was withdrawn, refused or released, and keeps every other record', () => {
    const states: readonly ClaimState[] = [
      'withdrawn',
      'refused',
      'released',
      'lost',
      'expired',
      'taken-over',
      'settled',
    ]
    const held = session(synced.row, ...states.map((state) => claimRow({ claimId: state, state })))
    const after = committed(held, saveSnapshot(held, saveRequest(shows('approving'), { route })))
    expect(after.claims.map(({ claimId }) => claimId)).toEqual(['lost', 'expired', 'taken-over', 'settled', 'c9'])
  })

  test('K8 a decision of a later attempt names it', () => {
    const again = session({ ...syncedRow(stored), claims: { 'confirm-1': view({ status: 'pending', attempt: 2 }) } })
    const { result } = saveSnapshot(again, saveRequest(shows('approving'), { route }))
    expect(result).toMatchObject({ claim: { attempt: 2 } })
  })
})

describe('settlements', () => {
  const approving = snapshot({ cursor: 4, confirmations: [confirmation({ status: 'approving' })] })
  const running = claimRow({ state: 'running' })

  function settle(held: DeviceSession, expectedCursor = 4) {
    const asked = snapshot({ cursor: expectedCursor + 1, confirmations: [confirmation({ status: 'approved' })] })
    return saveSnapshot(held, saveRequest(asked, { expectedCursor }))
  }

  test('K6 a permission of this device ends in a settlement that waits to be told', () => {
    const { change, result } = settle(session(syncedRow(approving), running))
    expect(result).toMatchObject({ kind: 'settled', claim: { state: 'settled', outcome: 'approved', told: false } })
    expect(change?.row).toMatchObject({ dirty: true, local: { cursor: 5, confirmations: [{ status: 'approved' }] } })
  })

  test('K6 K8 also after a run took so long that it was listed', () => {
    expect(settle(session(syncedRow(approving), claimRow({ state: 'attention' }))).result.kind).toBe('settled')
  })

  test('K6 without a permission here it is refused', () => {
    expect(codeOf(() => settle(session(syncedRow(approving))))).toBe('refused')
    expect(codeOf(() => settle(session(syncedRow(approving), claimRow({ state: 'sent' }))))).toBe('refused')
  })

  test('K6 an outcome is recorded on what is stored, though the cursor has moved', () => {
    const moved = { ...approving, cursor: 7, conversation: talk('m1') }
    const held = session(syncedRow(moved), running)
    const { change, result } = settle(held)
    expect(result).toMatchObject({ kind: 'recorded', claim: { state: 'settled', outcome: 'approved' } })
    expect(change?.row).toMatchObject({
      dirty: true,
      local: { cursor: 8, conversation: talk('m1'), confirmations: [{ status: 'approved' }] },
    })
  })

  test('K6 a stale save of an outcome that nobody here may record is a conflict', () => {
    expect(settle(session(syncedRow({ ...approving, cursor: 7 }))).result).toEqual({ kind: 'conflict' })
    const other = claimRow({ state: 'sent' })
    expect(settle(session(syncedRow({ ...approving, cursor: 7 }), other))).toEqual({ result: { kind: 'conflict' } })
  })

  test('R1 a stale click settles nothing, whatever was given up here', () => {
    const held = session(syncedRow({ ...stored, cursor: 7 }), claimRow({ state: 'released' }))
    expect(saveSnapshot(held, saveRequest(shows('approving'), { route }))).toEqual({ result: { kind: 'conflict' } })
  })

  test('K8 of a token with several records, the outcome is that of the permission which is held', () => {
    const other = claimRow({ claimId: 'x', token: 'x', state: 'released' })
    const records = [claimRow({ claimId: 'c0', state: 'lost' }), claimRow({ claimId: 'c1', state: 'taken-over' })]
    const given = session(syncedRow({ ...stored, cursor: 7 }), other, ...records)
    expect(settle(given).result).toMatchObject({ kind: 'recorded', claim: { claimId: 'c1' } })
    const again = claimRow({ claimId: 'c2', state: 'running', attempt: 1 })
    const held = session(syncedRow({ ...approving, cursor: 7 }), other, ...records, again)
    expect(settle(held).result).toMatchObject({ kind: 'recorded', claim: { claimId: 'c2' } })
  })

  test('K8 the late outcome of an attempt that was given up is kept for the server', () => {
    const again = session(syncedRow({ ...stored, cursor: 7 }), claimRow({ state: 'taken-over' }))
    const { change, result } = settle(again)
    expect(result.kind).toBe('recorded')
    expect(change?.row).toBeUndefined()
    expect(change?.putClaims).toMatchObject([{ state: 'settled', attempt: 0, told: false }])
  })
})

describe('turns', () => {
  const turn = { activeTurn: { turnId: 'turn-1', expiresAt: 900 } }

  test('T1 a new turn asks for the lease before anything is written', () => {
    expect(saveSnapshot(synced, saveRequest(shows('pending', turn)))).toEqual({
      result: { kind: 'needs-lease', turnId: 'turn-1', expiresAt: 900, incarnation: 'inc' },
    })
    const first = saveRequest(snapshot(turn), { expectedCursor: undefined, knownIncarnation: undefined })
    expect(saveSnapshot(session(undefined), first).result).toMatchObject({ incarnation: 'fresh' })
  })

  test('T1 granted, or decided among the tabs, the turn is stored as it was asked', () => {
    const lease = { turnId: 'turn-1', device: 'A', expiresAt: 800 }
    const granted = saveSnapshot(synced, saveRequest(shows('pending', turn), { lease: { granted: true, lease } }))
    expect(granted.change?.row).toMatchObject({ lease, local: turn })
    const here = saveSnapshot(synced, saveRequest(shows('pending', turn), { lease: { granted: true } }))
    expect(here.result.kind).toBe('stored')
  })

  test('T1 denied, the save is false and the cursor raised', () => {
    const { change, result } = saveSnapshot(synced, saveRequest(shows('pending', turn), { lease: { granted: false } }))
    expect(result).toEqual({ kind: 'conflict' })
    expect(change?.row?.local).toEqual({ ...stored, cursor: 5 })
  })

  test('T1 denied to a session that has no snapshot yet, the save is false', () => {
    const request = saveRequest(snapshot(turn), { expectedCursor: undefined, lease: { granted: false } })
    expect(saveSnapshot(session(row()), request)).toEqual({ result: { kind: 'conflict' } })
  })

  test('T1 a turn that is stored already, and its end, ask for nothing', () => {
    const active = session(syncedRow({ ...stored, ...turn }))
    expect(saveSnapshot(active, saveRequest(shows('pending', turn))).result.kind).toBe('stored')
    const ended = shows('pending', { terminalTurns: [{ turnId: 'turn-1', outcome: 'completed' }] })
    const { change } = saveSnapshot(active, saveRequest(ended))
    expect(change?.row?.local?.activeTurn).toBeUndefined()
  })
})
