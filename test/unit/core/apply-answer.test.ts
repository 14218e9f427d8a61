import { describe, expect, test } from 'vitest'
import { type AnswerContext, applyAnswer } from '../../../src/core/apply-answer.ts'
import type { DeviceSession, SessionRow } from '../../../src/core/device-session.ts'
import type { SessionAnswer } from '../../../src/protocol/session-answer.ts'
import {
  answer,
  baseOf,
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

const context: AnswerContext = { sessionId: 'session-1', epoch: EPOCH, holdBack: false, now: 60 }
const stored = snapshot({ cursor: 4, conversation: talk('m1') })
const newer = snapshot({ cursor: 7, conversation: talk('m1', 'm2') })
const synced = session(syncedRow(stored))
const ours = { ...stored, cursor: 5, conversation: talk('m1', 'ours') }
const dirty = session({ ...syncedRow(stored), local: ours, dirty: true })

function apply(held: DeviceSession, heard: SessionAnswer, change: Partial<AnswerContext> = {}) {
  const decided = applyAnswer(held, heard, { ...context, ...change })
  return { result: decided.result, change: decided.change, after: committed(held, decided) }
}

describe('a session that this device does not have', () => {
  test('I4 is stored as the server has it', () => {
    const heard = answer({ ...newer, confirmations: [confirmation()] })
    const { result, after } = apply(session(undefined), heard, { mayBegin: true })
    expect(result).toEqual({ kind: 'applied', changed: true, diverged: [] })
    expect(after.row).toMatchObject({
      incarnation: 'inc',
      confirmed: true,
      local: { cursor: 7, conversation: talk('m1', 'm2') },
      base: { cursor: 7, etag: etagAt(7) },
      initial: 'idle',
      dirty: false,
      left: { 'confirm-1': EPOCH },
    })
  })

  test('I4 gets a row when the server has only its messages', () => {
    const { result, after } = apply(session(undefined), answer(null, { head: 3 }), { mayBegin: true })
    expect(result).toEqual({ kind: 'no-snapshot' })
    expect(after.row).toMatchObject({ sessionId: 'session-1', incarnation: 'inc', confirmed: true })
    expect(after.row?.local).toBeUndefined()
  })

  test('G8 does not come back by an answer that nobody asked for, or while its deletion is on its way', () => {
    expect(apply(session(undefined), answer(newer)).result).toEqual({ kind: 'ignored' })
    const deletes = [{ kind: 'delete', sessionId: 'session-1', incarnation: 'inc', deviceAt: 5 } as const]
    const deleted = { ...session(undefined), deletes }
    expect(apply(deleted, answer(newer), { mayBegin: true }).result).toEqual({ kind: 'ignored' })
  })
})

describe('a clean row', () => {
  test('R1 adopts what differs, with a cursor above its own', () => {
    const { result, after } = apply(synced, answer(newer))
    expect(result).toEqual({ kind: 'applied', changed: true, diverged: [] })
    expect(after.row).toMatchObject({ local: newer, base: baseOf(newer), dirty: false })
    const ahead = session({ ...syncedRow(stored), local: { ...stored, cursor: 9 } })
    expect(apply(ahead, answer(newer)).after.row?.local?.cursor).toBe(10)
  })

  test('R1 moves only its base when the content is equal: no tab has to look again', () => {
    const { result, after } = apply(synced, answer({ ...stored, cursor: 7 }))
    expect(result).toEqual({ kind: 'applied', changed: false, diverged: [] })
    expect(after.row).toMatchObject({ local: stored, base: { cursor: 7 }, dirty: false })
  })

  test('K6 keeps a settlement of its own that the server does not show yet', () => {
    const approving = { ...newer, confirmations: [confirmation({ status: 'approving' })] }
    const held = session(
      { ...syncedRow(stored), claims: { 'confirm-1': view() } },
      claimRow({ state: 'settled', outcome: 'approved' }),
    )
    const { after } = apply(held, answer(approving, { claims: [view()] }))
    expect(after.row).toMatchObject({ dirty: true, local: { confirmations: [{ status: 'approved' }] } })
  })

  test('K8 shows the later attempt of the server instead of its own earlier one', () => {
    const again = { ...newer, confirmations: [confirmation()] }
    const held = session(syncedRow(stored), claimRow({ state: 'settled', outcome: 'approved', told: true }))
    const claims = [view({ claimId: undefined, status: 'pending', attempt: 1 })]
    const { after } = apply(held, answer(again, { claims }))
    expect(after.row).toMatchObject({ dirty: false, local: { confirmations: [{ status: 'pending' }] } })
  })
})

test.each(['running', 'attention'] as const)(
  'K4 R5 an answer from before a claim takes back nothing that is %s',
  (state) => {
    const pending = { ...newer, confirmations: [confirmation()] }
    const approving = { ...stored, confirmations: [confirmation({ status: 'approving' })] }
    const held = session({ ...syncedRow(stored), local: { ...approving, cursor: 6 } }, claimRow({ state }))
    expect(apply(held, answer(pending)).after.row?.local?.confirmations[0]?.status).toBe('approving')
  },
)

describe('a dirty row', () => {
  test('R1 R2 merges, one above both cursors, and has something to push', () => {
    const proposed = { ...stored, cursor: 7, confirmations: [confirmation()] }
    const { result, after } = apply(dirty, answer(proposed))
    expect(result).toEqual({ kind: 'applied', changed: true, diverged: [] })
    expect(after.row).toMatchObject({
      dirty: true,
      base: { cursor: 7 },
      local: { cursor: 8, conversation: talk('m1', 'ours'), confirmations: [confirmation()] },
    })
  })

  test('F19 reports what the server’s conversation replaced, and is clean when nothing else is ours', () => {
    const { result, after } = apply(dirty, answer(newer))
    expect(result).toMatchObject({ kind: 'applied', changed: true, diverged: [{ messageId: 'ours' }] })
    expect(after.row).toMatchObject({ dirty: false, local: { cursor: 8, conversation: talk('m1', 'm2') } })
    expect(after.row?.diverged?.map(({ messageId }) => messageId)).toEqual(['ours'])
    const more = { ...newer, cursor: 20, conversation: talk('m1', 'm2', 'm3') }
    const again = session({ ...after.row, dirty: true, local: { ...ours, cursor: 9 } } as typeof dirty.row)
    expect(apply(again, answer(more)).after.row?.diverged).toHaveLength(2)
  })

  test('R2 is clean when the server says the same, and its cursor stays', () => {
    const { result, after } = apply(dirty, answer({ ...ours, cursor: 7 }))
    expect(result).toEqual({ kind: 'applied', changed: false, diverged: [] })
    expect(after.row).toMatchObject({ dirty: false, local: ours, base: { cursor: 7 } })
  })

  test('R4 that is only ahead of the server keeps its cursor: no tab conflicts with its own device', () => {
    const approving = { ...stored, cursor: 5, confirmations: [confirmation({ status: 'approving' })] }
    const local = {
      ...approving,
      cursor: 9,
      conversation: talk('m1', 'ours'),
      confirmations: [confirmation({ status: 'approved' })],
    }
    const held = session(
      { ...syncedRow(approving), local, dirty: true },
      claimRow({ state: 'settled', outcome: 'approved' }),
    )
    const { result, after } = apply(held, answer({ ...approving, cursor: 6 }, { claims: [view()] }))
    expect(result).toEqual({ kind: 'applied', changed: false, diverged: [] })
    expect(after.row).toMatchObject({ dirty: true, local, base: { cursor: 6 } })
  })

  test('R7 a status that it only heard of gives way to a later attempt', () => {
    const approving = { ...stored, confirmations: [confirmation({ status: 'approving' })] }
    const held = session({
      ...syncedRow(approving),
      local: { ...approving, cursor: 5, conversation: talk('m1', 'ours') },
      dirty: true,
    })
    const pending = { ...stored, cursor: 7, confirmations: [confirmation()] }
    const heard = answer(pending, { claims: [view({ claimId: undefined, status: 'pending', attempt: 1 })] })
    // The views come first, without the snapshot: what they say must not be taken for our own knowledge.
    const prepared = apply(held, { ...heard, snapshot: null, etag: null }).after
    expect(apply(prepared, heard).after.row?.local?.confirmations[0]?.status).toBe('pending')
  })
})

test('K1 a token that the server speaks of has left, though the word of it got no answer', () => {
  const fresh = session({ ...syncedRow(stored), left: {} })
  expect(apply(fresh, answer(null, { claims: [view()] })).after.row?.left).toEqual({ 'confirm-1': EPOCH })
})

test('T1 the lease of an answer that came late is over', () => {
  const lease = { turnId: 'turn-1', device: 'B', expiresAt: 59 }
  const turned = (expiresAt: number) => {
    const moved = { ...stored, cursor: 7, confirmations: [confirmation()] }
    return apply(dirty, answer(moved, { lease: { ...lease, expiresAt } })).after.row?.local?.activeTurn
  }
  expect(turned(59)).toBeUndefined()
  expect(turned(61)).toEqual({ turnId: 'turn-1', expiresAt: 61 })
})

test('R4 that the server lists confirmations in another order disturbs no tab', () => {
  const [one, two] = ['a', 'b'].map((token) => confirmation({ token, toolCallId: token }))
  if (!one || !two) throw new Error('two confirmations')
  const local = { ...stored, cursor: 6, confirmations: [one, two] }
  const held = session({ ...syncedRow(stored), local, dirty: true })
  const { result, after } = apply(held, answer({ ...stored, cursor: 5, confirmations: [two] }))
  expect(result).toMatchObject({ changed: false })
  expect(after.row).toMatchObject({ local, dirty: true, base: { cursor: 5 } })
})

describe('late and early answers', () => {
  test('R5 a snapshot that is not above the base is no news; its claims are', () => {
    const late = answer({ ...newer, cursor: 4 }, { claims: [view({ device: 'B' })] })
    const { result, after } = apply(dirty, late)
    expect(result).toEqual({ kind: 'applied', changed: false, diverged: [] })
    expect(after.row).toMatchObject({ local: ours, base: dirty.row?.base, claims: { 'confirm-1': { device: 'B' } } })
  })

  test('R5 news is judged by the base, never by the local cursor', () => {
    const far = session({ ...syncedRow(stored), local: { ...ours, cursor: 50 }, dirty: true })
    expect(apply(far, answer(newer)).after.row).toMatchObject({ base: { cursor: 7 }, local: { cursor: 51 } })
  })

  test('R5 an answer of an epoch that began earlier is ignored', () => {
    expect(apply(dirty, answer(newer, { epoch: '999-z' }))).toMatchObject({ result: { kind: 'ignored' }, after: dirty })
  })

  test('the same answer again writes nothing', () => {
    const once = apply(synced, answer(newer)).after
    expect(apply(once, answer(newer)).change).toBeUndefined()
    expect(apply(once, answer(null)).change).toBeUndefined()
  })

  test('G8 a deleted session hears nothing any more', () => {
    const deleted = session({ ...syncedRow(stored), deleted: { at: 1, unsynced: true } })
    expect(apply(deleted, answer(newer))).toMatchObject({ result: { kind: 'ignored' }, after: deleted })
  })
})

describe('an own write', () => {
  const sentRow = {
    ...syncedRow(stored),
    local: ours,
    dirty: true,
    sent: { writeId: 'w1', snapshot: ours, ifMatch: etagAt(4), inDoubt: [] },
  }

  test('R2 R3 that was stored as it is makes the row clean and ends the PUT', () => {
    const { result, after } = apply(session(sentRow), answer(ours, { lastWriteId: 'w1' }))
    expect(result).toEqual({ kind: 'applied', changed: false, diverged: [] })
    expect(after.row).toMatchObject({ dirty: false, local: ours, base: baseOf(ours) })
    expect(after.row?.sent).toBeUndefined()
  })

  test('R2 leaves a later save dirty, on the new base', () => {
    const local = { ...ours, cursor: 6, conversation: talk('m1', 'ours', 'more') }
    const { result, after } = apply(session({ ...sentRow, local }), answer(ours, { lastWriteId: 'w1' }))
    expect(result).toEqual({ kind: 'applied', changed: false, diverged: [] })
    expect(after.row).toMatchObject({ dirty: true, local, base: baseOf(ours) })
  })

  test('R4 is what both sides share: a device never diverges from itself', () => {
    const edited = { ...talk('m1', 'edited'), decisions: talk('m1', 'edited').decisions }
    const local = { ...ours, cursor: 6, conversation: edited }
    const moved = { ...ours, cursor: 8, confirmations: [confirmation()] }
    const { result, after } = apply(session({ ...sentRow, local }), answer(moved, { lastWriteId: 'w1' }))
    expect(result).toMatchObject({ kind: 'applied', diverged: [] })
    expect(after.row).toMatchObject({ dirty: true, local: { conversation: edited, confirmations: [confirmation()] } })
  })

  test('R3 that went on at the server is adopted, also when it was the first', () => {
    const moved = { ...ours, cursor: 8, confirmations: [confirmation()] }
    const { base: _base, ...created } = sentRow
    for (const held of [sentRow, created]) {
      const { after } = apply(session(held), answer(moved, { lastWriteId: 'w1' }))
      expect(after.row).toMatchObject({ dirty: false, base: { cursor: 8 }, local: { confirmations: [confirmation()] } })
      expect(after.row?.sent).toBeUndefined()
    }
  })

  test('R7 stored otherwise than asked is taken as it is stored', () => {
    const kept = { ...ours, confirmations: [confirmation()] }
    const { after } = apply(session(sentRow), answer(kept, { lastWriteId: 'w1' }))
    expect(after.row).toMatchObject({ dirty: false, local: { cursor: 6, confirmations: [confirmation()] } })
  })

  test('R3 stays under way through answers that do not name it', () => {
    expect(apply(session(sentRow), answer(newer, { lastWriteId: 'w0' })).after.row?.sent).toEqual(sentRow.sent)
  })

  test('R4 R5 is over also when a late answer says so', () => {
    const ahead = { ...sentRow, base: baseOf(newer) }
    const { after } = apply(session(ahead), answer(ours, { lastWriteId: 'w1' }))
    expect(after.row?.sent).toBeUndefined()
    expect(after.row?.base).toEqual(baseOf(newer))
  })
})

describe('held back', () => {
  test('K5 while a claim runs, the answer is kept and neither merged nor taken as base', () => {
    const { result, after } = apply(dirty, answer(newer), { holdBack: true })
    expect(result).toEqual({ kind: 'held' })
    expect(after.row).toMatchObject({ local: ours, base: dirty.row?.base, incoming: answer(newer) })
  })

  test('R7 K9 a claim that ended elsewhere meanwhile is known to have ended, and by whom', () => {
    const held = view({ device: 'B', label: 'Phone', sub: 'bob' })
    const session = { ...dirty, row: { ...dirty.row, claims: { 'confirm-1': held } } } as DeviceSession
    const settled = { ...newer, confirmations: [confirmation({ status: 'approved' })] }
    const { row } = apply(session, answer(settled), { holdBack: true }).after
    expect(row?.claims['confirm-1']).toEqual({ ...held, status: 'approved' })
    expect(row?.local).toEqual(ours)
  })

  test('K5 R5 a late answer does not replace a newer one that is held', () => {
    const held = apply(dirty, answer(newer), { holdBack: true }).after
    const late = answer({ ...newer, cursor: 6 })
    expect(apply(held, late, { holdBack: true }).after.row?.incoming).toEqual(answer(newer))
  })

  test('K5 the answer is gone when it was taken in, or is no news any more', () => {
    const held = apply(dirty, answer(newer), { holdBack: true }).after
    expect(apply(held, answer(newer)).after.row?.incoming).toBeUndefined()
    const overtaken = session({ ...held.row, base: baseOf({ ...newer, cursor: 9 }) } as typeof held.row)
    expect(apply(overtaken, answer(newer)).after.row?.incoming).toBeUndefined()
  })

  test('K5 a newer one stays when an older answer is taken in', () => {
    const held = apply(dirty, answer(newer), { holdBack: true }).after
    const { after } = apply(held, answer({ ...stored, cursor: 5, confirmations: [confirmation()] }))
    expect(after.row).toMatchObject({ base: { cursor: 5 }, incoming: answer(newer) })
  })
})

describe('messages first', () => {
  const has = (...known: readonly string[]) => ({ hasMessage: (id: string) => known.includes(id) })

  test('R8 what the server decided is cut at the first message that a complete document lacks', () => {
    const three = { ...newer, conversation: talk('m1', 'm2', 'm3') }
    const { result, after } = apply(synced, answer(three), has('m1', 'm3'))
    expect(result).toMatchObject({ diverged: [{ messageId: 'm2' }, { messageId: 'm3' }] })
    expect(after.row).toMatchObject({ dirty: true, local: { cursor: 8, conversation: talk('m1') } })
  })

  test('R8 what a page here decided is not cut before its message had its time', () => {
    const proposed = { ...stored, cursor: 7, confirmations: [confirmation()] }
    const { result, after } = apply(dirty, answer(proposed), has('m1'))
    expect(result).toMatchObject({ diverged: [] })
    expect(after.row?.local?.conversation).toEqual(talk('m1', 'ours'))
  })

  test('R8 nothing is cut while the document is not complete', () => {
    expect(apply(synced, answer(newer)).after.row?.local).toEqual(newer)
  })
})

describe('incarnations', () => {
  const unconfirmed = row({
    local: ours,
    initial: 'idle',
    dirty: true,
    acked: 3,
    sent: { writeId: 'w1', snapshot: ours, ifMatch: null, inDoubt: [] },
  })
  const theirs = answer(
    { ...newer, conversation: talk('m1'), confirmations: [confirmation()] },
    { incarnation: 'theirs' },
  )

  test('I2 a row that the server never confirmed adopts its incarnation, sends everything again, and merges', () => {
    const own = claimRow({ own: true, state: 'running', token: 'mine' })
    const { result, after } = apply(session(unconfirmed, own), theirs)
    expect(result).toMatchObject({ kind: 'applied', diverged: [] })
    expect(after.row).toMatchObject({
      incarnation: 'theirs',
      was: ['inc'],
      confirmed: true,
      acked: 0,
      pulled: 0,
      dirty: true,
      local: { cursor: 8, conversation: talk('m1', 'ours'), confirmations: [confirmation()] },
    })
    expect(after.row?.sent).toBeUndefined()
    expect(after.claims).toEqual([{ ...own, incarnation: 'theirs' }])
  })

  test('I2 two conversations that share nothing end in the server’s, ours is reported', () => {
    const other = answer({ ...newer, conversation: talk('theirs') }, { incarnation: 'theirs' })
    const { result } = apply(session(unconfirmed), other)
    expect(result).toMatchObject({ diverged: [{ messageId: 'm1' }, { messageId: 'ours' }] })
  })

  test('I2 an answer under the incarnation that was given up is ignored', () => {
    const { after } = apply(session(unconfirmed), theirs)
    expect(apply(after, answer(newer)).result).toEqual({ kind: 'ignored' })
  })

  test('I1 an answer about nothing does not confirm the incarnation that it says back', () => {
    const { after } = apply(session(row({ local: ours })), answer(null))
    expect(after.row?.confirmed).toBe(false)
    for (const change of [{ head: 1 }, { claims: [view()] }]) {
      expect(apply(session(row()), answer(null, change)).after.row?.confirmed).toBe(true)
    }
  })

  test('I2 G8 a confirmed row under another incarnation was deleted: what is unsynced stays for an export', () => {
    const { result, after } = apply(dirty, theirs)
    expect(result).toEqual({ kind: 'replaced' })
    expect(after.row).toMatchObject({ incarnation: 'inc', local: ours, deleted: { at: 60, unsynced: true } })
  })

  test('I5 I2 in a new epoch nothing is confirmed yet: the id that another device made again is taken, and merged', () => {
    const before = session({ ...(dirty.row as SessionRow), base: undefined, giveBack: true })
    const { result, after } = apply(before, theirs)
    expect(result).toMatchObject({ kind: 'applied' })
    expect(after.row).toMatchObject({ incarnation: theirs.incarnation, was: ['inc'], giveBack: true })
  })

  test('G8 without anything unsynced it goes', () => {
    expect(apply(synced, theirs).after).toEqual({ row: undefined, claims: [], deletes: [] })
    expect(apply(synced, theirs, { unsentUpdates: true }).after.row?.deleted).toEqual({ at: 60, unsynced: true })
  })
})

describe('definitions', () => {
  const other = answer({ ...newer, definitionRevision: 2 })

  test('another revision on the server is listed, and nothing is lost', () => {
    const { result, after } = apply(dirty, other)
    expect(result).toEqual({ kind: 'mismatch' })
    expect(after.row).toMatchObject({
      local: ours,
      base: dirty.row?.base,
      refused: { code: 'definition-mismatch', at: 60 },
    })
  })

  test('what fits again is not refused any more; another refusal stays', () => {
    const mismatched = apply(dirty, other).after
    expect(apply(mismatched, answer(newer)).after.row?.refused).toBeUndefined()
    const refused = { code: 'too-large', message: '', retryable: false, at: 1, writeId: 'w0' }
    const large = session({ ...syncedRow(stored), refused })
    expect(apply(large, answer(newer)).after.row?.refused).toEqual(refused)
  })
})

describe('decisions of this device', () => {
  const again = [view({ claimId: undefined, status: 'pending', attempt: 1 })]

  test.each(['won', 'running', 'attention'] as const)(
    'K8 G1 one that is %s ends when the token has another attempt',
    (state) => {
      const { after } = apply(session(syncedRow(stored), claimRow({ state })), answer(null, { claims: again }))
      expect(after.claims[0]).toMatchObject({ state: 'taken-over', attempt: 0 })
    },
  )

  test.each(['won', 'running', 'attention'] as const)('K8 one that is %s goes on in its own attempt', (state) => {
    const claim = claimRow({ state, attempt: 1 })
    const claims = [view({ attempt: 1 })]
    expect(apply(session(syncedRow(stored), claim), answer(null, { claims })).after.claims).toEqual([claim])
  })

  test.each(['waiting', 'sent', 'settled', 'lost', 'released'] as const)('K8 one that is %s does not', (state) => {
    const claim = claimRow({ state })
    expect(apply(session(syncedRow(stored), claim), answer(null, { claims: again })).after.claims).toEqual([claim])
  })

  test.each(['lost', 'refused'] as const)(
    'K8 one that was told %s and holds the token after all is put to a person',
    (state) => {
      const holds = answer(null, { claims: [view({ attempt: 1 })] })
      const { after } = apply(session(syncedRow(stored), claimRow({ state })), holds)
      expect(after.claims[0]).toMatchObject({ state: 'attention', attempt: 1, problem: { code: 'won-late' } })
      const live = claimRow({ claimId: 'c2', state: 'sent' })
      expect(apply(session(syncedRow(stored), claimRow({ state }), live), holds).after.claims[0]?.state).toBe(state)
    },
  )

  test('K10 rows go when their token left the snapshot', () => {
    const told = claimRow({ state: 'settled', outcome: 'approved', told: true })
    const held = session(syncedRow({ ...stored, confirmations: [confirmation({ status: 'approved' })] }), told)
    expect(apply(held, answer(newer)).change).toMatchObject({ removeClaims: ['c1'], putClaims: [] })
    expect(apply(held, answer(newer)).after.row?.diverged).toBeUndefined()
  })

  test('T1 the lease is the one of the last answer', () => {
    const lease = { turnId: 'turn-1', device: 'B', expiresAt: 90 }
    const leased = apply(synced, answer(null, { lease })).after
    expect(leased.row?.lease).toEqual(lease)
    expect(apply(leased, answer(null)).after.row?.lease).toBeUndefined()
  })
})
