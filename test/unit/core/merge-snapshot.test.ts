import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Confirmation, Conversation, Snapshot, TerminalTurn } from '../../../src/contract/session-snapshot.ts'
import { chains, isSameDecision } from '../../../src/core/conversation-chain.ts'
import { isMergeable, type MergeInput, mergeSnapshot } from '../../../src/core/merge-snapshot.ts'
import { CONFIRMATIONS_KEPT } from '../../../src/core/prune-confirmations.ts'
import { sameContent } from '../../../src/core/same-content.ts'
import { isOutcome, outcomeOf, statusRank, type Want } from '../../../src/protocol/claim-status.ts'
import { confirmation, decision, snapshot, talk } from './sessions.ts'

function merge(input: Pick<MergeInput, 'base' | 'local' | 'server'> & Partial<MergeInput>) {
  return mergeSnapshot({ lease: null, ourAttempt: () => 0, theirAttempt: () => 0, ...input })
}

/** What one side did since `base`: decisions taken or edited, confirmations proposed and moved on, turns ended. */
interface Work {
  readonly by: string
  readonly keep: number
  readonly turns: readonly string[]
  readonly proposed: number
  readonly moved: readonly number[]
  readonly ended: number
}

const work = (by: string): fc.Arbitrary<Work> =>
  fc.record({
    by: fc.constant(by),
    keep: fc.oneof({ weight: 3, arbitrary: fc.constant(9) }, fc.nat({ max: 3 })),
    turns: fc.array(fc.constantFrom('idle', 'active', 'done'), { maxLength: 3 }),
    proposed: fc.nat({ max: 2 }),
    moved: fc.array(fc.nat({ max: 2 }), { minLength: 4, maxLength: 4 }),
    ended: fc.nat({ max: 2 }),
  })

/** The decision of a token is one: the server gave it to one claim. */
const WANT_OF: readonly Want[] = ['approving', 'rejecting', 'expiring', 'approving']

const base: Snapshot = snapshot({
  cursor: 4,
  conversation: talk('m1', 'm2', 'm3'),
  confirmations: [0, 1, 2, 3].map((n) => confirmation({ token: `t${n}`, toolCallId: `call-t${n}` })),
  terminalTurns: [{ turnId: 'turn-0', outcome: 'completed' }],
})

function worked(before: Snapshot, { by, keep, turns, proposed, moved, ended }: Work): Snapshot {
  const names = (count: number, kind: string) => Array.from({ length: count }, (_, n) => `${kind}-${by}${n}`)
  return {
    ...before,
    cursor: before.cursor + 3,
    conversation: extend(before.conversation ?? talk(), keep, turns, by),
    confirmations: [
      ...before.confirmations.map((each, n) => movedBy(each, moved[n] ?? 0, WANT_OF[n] ?? 'approving')),
      ...names(proposed, 't').map((token) => confirmation({ token, toolCallId: `call-${token}` })),
    ],
    terminalTurns: [
      ...(before.terminalTurns ?? []),
      ...names(ended, 'turn').map((turnId): TerminalTurn => ({ turnId, outcome: 'completed' })),
    ],
  }
}

function extend(before: Conversation, keep: number, turns: readonly string[], by: string): Conversation {
  const decisions = before.decisions.slice(0, keep)
  for (const [n, toState] of turns.entries()) {
    decisions.push(decision({ messageId: `m-${by}${n}`, fromState: decisions.at(-1)?.toState ?? 'idle', toState }))
  }
  return { state: decisions.at(-1)?.toState ?? 'idle', decisions }
}

function movedBy(each: Confirmation, steps: number, want: Want): Confirmation {
  if (steps === 0 || each.status !== 'pending') return each
  return { ...each, status: steps === 1 ? want : outcomeOf(want) }
}

function statuses({ confirmations }: Snapshot): Readonly<Record<string, string>> {
  return Object.fromEntries(confirmations.map(({ token, status }) => [token, status]))
}

describe('merging', () => {
  test('R1 stores one above both cursors', () => {
    fc.assert(
      fc.property(work('A'), work('B'), (ours, theirs) => {
        const local = { ...worked(base, ours), cursor: 10 }
        const server = { ...worked(base, theirs), cursor: 17 }
        expect(merge({ base, local, server }).snapshot.cursor).toBe(18)
        expect(merge({ base, local: server, server: local }).snapshot.cursor).toBe(18)
      }),
    )
  })

  test('takes the side that changed when only one did', () => {
    fc.assert(
      fc.property(work('A'), (done) => {
        const changed = worked(base, done)
        const theirs = merge({ base, local: base, server: changed })
        const ours = merge({ base, local: changed, server: base })
        expect(sameContent(theirs.snapshot, changed)).toBe(true)
        expect(sameContent(ours.snapshot, changed)).toBe(true)
        expect([...theirs.diverged, ...ours.diverged]).toEqual([])
      }),
    )
  })

  test('R2 of what both sides have alike changes nothing', () => {
    fc.assert(
      fc.property(work('A'), fc.boolean(), (done, known) => {
        const both = worked(base, done)
        const merged = merge({ base: known ? base : undefined, local: both, server: both })
        expect(sameContent(merged.snapshot, both)).toBe(true)
        expect(merged.diverged).toEqual([])
      }),
    )
  })

  test('once more with the same server changes nothing', () => {
    fc.assert(
      fc.property(work('A'), work('B'), (ours, theirs) => {
        const server = worked(base, theirs)
        const once = merge({ base, local: worked(base, ours), server }).snapshot
        for (const again of [merge({ base, local: once, server }), merge({ base: server, local: once, server })]) {
          expect(sameContent(again.snapshot, once)).toBe(true)
          expect(again.diverged).toEqual([])
        }
      }),
    )
  })

  test('G5 gives confirmations and ended turns alike, whichever of two devices comes first', () => {
    fc.assert(
      fc.property(work('A'), work('B'), (one, other) => {
        const a = worked(base, one)
        const b = worked(base, other)
        const first = merge({ base, local: b, server: a }).snapshot
        const second = merge({ base, local: a, server: b }).snapshot
        expect(statuses(first)).toEqual(statuses(second))
        expect(new Set(first.terminalTurns)).toEqual(new Set(second.terminalTurns))
      }),
    )
  })

  test('G5 gives one conversation, whichever device comes first, unless both took another way', () => {
    fc.assert(
      fc.property(work('A'), work('B'), (one, other) => {
        const a = worked(base, one)
        const b = worked(base, other)
        const first = merge({ base, local: b, server: a })
        const second = merge({ base, local: a, server: b })
        if (first.diverged.length === 0 && second.diverged.length === 0) return
        expect(first.snapshot.conversation).toEqual(a.conversation)
        expect(second.snapshot.conversation).toEqual(b.conversation)
      }),
    )
  })

  test('invents no token and drops none', () => {
    fc.assert(
      fc.property(work('A'), work('B'), fc.boolean(), (ours, theirs, known) => {
        const local = worked(base, ours)
        const server = worked(base, theirs)
        const merged = merge({ base: known ? base : undefined, local, server }).snapshot
        const expected = new Set([...server.confirmations, ...local.confirmations].map(({ token }) => token))
        expect(merged.confirmations.map(({ token }) => token)).toEqual([...expected])
      }),
    )
  })

  test('R7 leaves no status for an earlier one within an attempt', () => {
    fc.assert(
      fc.property(work('A'), work('B'), (ours, theirs) => {
        const sides = [worked(base, ours), worked(base, theirs)] as const
        const merged = statuses(merge({ base, local: sides[0], server: sides[1] }).snapshot)
        for (const { confirmations } of sides) {
          for (const { token, status } of confirmations) {
            const now = merged[token] as Confirmation['status']
            expect(statusRank(now)).toBeGreaterThanOrEqual(statusRank(status))
            if (isOutcome(status)) expect(now).toBe(status)
          }
        }
      }),
    )
  })

  test('G6 resumes: the merged conversation chains when both sides did', () => {
    fc.assert(
      fc.property(work('A'), work('B'), fc.boolean(), (ours, theirs, known) => {
        const local = worked(base, ours)
        const { conversation } = merge({
          base: known ? base : undefined,
          local,
          server: worked(base, theirs),
        }).snapshot
        expect(conversation && chains('idle', conversation)).toBe(true)
      }),
    )
  })

  test('G4 F19 loses no decision silently: it is kept, was known before, or is reported', () => {
    fc.assert(
      fc.property(work('A'), work('B'), (ours, theirs) => {
        const local = worked(base, ours)
        const { snapshot: merged, diverged } = merge({ base, local, server: worked(base, theirs) })
        for (const taken of local.conversation?.decisions ?? []) {
          const known = [merged, base].flatMap(({ conversation }) => conversation?.decisions ?? [])
          expect([...known, ...diverged].some((each) => isSameDecision(each, taken))).toBe(true)
        }
      }),
    )
  })
})

test('F19 both took another way: the server’s conversation stays, and only what this device added is reported', () => {
  const known = snapshot({ conversation: talk('m1') })
  const local = snapshot({ cursor: 3, conversation: talk('m1', 'ours-1', 'ours-2') })
  const server = snapshot({ cursor: 2, conversation: talk('m1', 'theirs') })
  const { snapshot: merged, diverged } = merge({ base: known, local, server })
  expect(merged.conversation).toEqual(server.conversation)
  expect(diverged.map(({ messageId }) => messageId)).toEqual(['ours-1', 'ours-2'])
})

test('F19 an edit that the server’s conversation replaced is reported, though its message is there', () => {
  const known = snapshot({ conversation: talk('m1') })
  const edited = { state: 's1', decisions: [decision({ messageId: 'm1', input: '/other', toState: 's1' })] }
  const { diverged } = merge({
    base: known,
    local: snapshot({ conversation: edited }),
    server: snapshot({ conversation: talk('m1', 'theirs') }),
  })
  expect(diverged).toEqual(edited.decisions)
})

test('I2 without anything in common the longer of two conversations stays when one continues the other', () => {
  const shorter = snapshot({ conversation: talk('m1') })
  const longer = snapshot({ conversation: talk('m1', 'm2') })
  for (const [local, server] of [
    [shorter, longer],
    [longer, shorter],
  ] as const) {
    const merged = merge({ base: undefined, local, server })
    expect(merged.snapshot.conversation).toEqual(longer.conversation)
    expect(merged.diverged).toEqual([])
  }
})

test('a side without a conversation takes the other’s', () => {
  const talking = snapshot({ conversation: talk('m1') })
  expect(merge({ base: undefined, local: snapshot(), server: talking }).snapshot.conversation).toEqual(talk('m1'))
  expect(merge({ base: undefined, local: talking, server: snapshot() }).snapshot.conversation).toEqual(talk('m1'))
  expect(merge({ base: undefined, local: snapshot(), server: snapshot() }).snapshot.conversation).toBeUndefined()
})

test('R7 a later attempt goes before a higher rank, on whichever side it is', () => {
  const approved = snapshot({ confirmations: [confirmation({ status: 'approved' })] })
  const pending = snapshot({ confirmations: [confirmation()] })
  const theirs = merge({ base: undefined, local: approved, server: pending, theirAttempt: () => 1 })
  expect(theirs.snapshot.confirmations[0]?.status).toBe('pending')
  const ours = merge({ base: undefined, local: pending, server: approved, ourAttempt: () => 1 })
  expect(ours.snapshot.confirmations[0]?.status).toBe('pending')
})

test('of one token the server’s record stays, and only its status may be ours', () => {
  const local = snapshot({ confirmations: [confirmation({ action: 'ours', status: 'approving' })] })
  const server = snapshot({ confirmations: [confirmation({ action: 'theirs' })] })
  expect(merge({ base: undefined, local, server }).snapshot.confirmations).toEqual([
    confirmation({ action: 'theirs', status: 'approving' }),
  ])
})

test('F12 a second token for one tool call is refused: the server’s stays', () => {
  const local = snapshot({ confirmations: [confirmation({ token: 'ours' })] })
  const server = snapshot({ confirmations: [confirmation({ token: 'theirs' })] })
  const merged = merge({ base: undefined, local, server }).snapshot
  expect(merged.confirmations.map(({ token }) => token)).toEqual(['theirs'])
})

test('above the bound the oldest settled confirmations go, unfinished ones never', () => {
  const settled = (by: string) =>
    Array.from({ length: 600 }, (_, n) =>
      confirmation({ token: `${by}${n}`, toolCallId: `call-${by}${n}`, status: 'approved', expiresAt: n }),
    )
  const open = confirmation({ token: 'open', toolCallId: 'call-open', expiresAt: 0 })
  const merged = merge({
    base: undefined,
    local: snapshot({ confirmations: [open, ...settled('a')] }),
    server: snapshot({ confirmations: settled('b') }),
  }).snapshot
  expect(merged.confirmations).toHaveLength(CONFIRMATIONS_KEPT)
  expect(merged.confirmations).toContainEqual(open)
})

test('of a turn that both ended the server’s outcome stays, and the last 64 are kept', () => {
  const turns = (by: string, outcome: TerminalTurn['outcome']) =>
    Array.from({ length: 40 }, (_, n): TerminalTurn => ({ turnId: n === 0 ? 'both' : `${by}${n}`, outcome }))
  const { terminalTurns = [] } = merge({
    base: undefined,
    local: snapshot({ terminalTurns: turns('a', 'completed') }),
    server: snapshot({ terminalTurns: turns('b', 'indeterminate') }),
  }).snapshot
  expect(terminalTurns).toHaveLength(64)
  expect(terminalTurns.filter(({ turnId }) => turnId === 'both').length).toBeLessThanOrEqual(1)
  expect(terminalTurns.at(-1)).toEqual({ turnId: 'a39', outcome: 'completed' })
})

test('a turn that the server forgot as too old does not come back', () => {
  const turn = (n: number): TerminalTurn => ({ turnId: `turn-${n}`, outcome: 'completed' })
  const known = Array.from({ length: 64 }, (_, n) => turn(n))
  const { terminalTurns } = merge({
    base: snapshot({ terminalTurns: known }),
    local: snapshot({ terminalTurns: known }),
    server: snapshot({ terminalTurns: [...known.slice(1), turn(64)] }),
  }).snapshot
  expect(terminalTurns).toEqual([...known.slice(1), turn(64)])
})

describe('the active turn', () => {
  const turn = (turnId: string, expiresAt = 100) => ({ turnId, expiresAt })
  const lease = (turnId: string) => ({ turnId, device: 'B', expiresAt: 140 })

  test('T1 is the lease holder’s', () => {
    const local = snapshot({ activeTurn: turn('ours') })
    const merged = merge({ base: undefined, local, server: snapshot(), lease: lease('theirs') })
    expect(merged.snapshot.activeTurn).toEqual(turn('theirs', 140))
  })

  test('T1 is not that of a lease whose turn ended', () => {
    const local = snapshot({
      activeTurn: turn('next'),
      terminalTurns: [{ turnId: 'ours', outcome: 'completed' }],
    })
    const server = snapshot({ activeTurn: turn('ours') })
    const merged = merge({ base: server, local, server, lease: lease('ours') })
    expect(merged.snapshot.activeTurn).toEqual(turn('next'))
  })

  test('T1 is stored as it was asked, also while the lease names it', () => {
    const local = snapshot({ activeTurn: turn('ours') })
    const merged = merge({ base: snapshot(), local, server: snapshot(), lease: lease('ours') })
    expect(merged.snapshot.activeTurn).toEqual(turn('ours'))
  })

  test('is of the side that changed it when nobody holds a lease', () => {
    const with1 = snapshot({ activeTurn: turn('one') })
    expect(merge({ base: with1, local: snapshot(), server: with1 }).snapshot.activeTurn).toBeUndefined()
    expect(merge({ base: with1, local: with1, server: snapshot() }).snapshot.activeTurn).toBeUndefined()
    expect(merge({ base: snapshot(), local: with1, server: snapshot() }).snapshot.activeTurn).toEqual(turn('one'))
  })

  test('is over when either side says that it ended', () => {
    const ended = snapshot({ terminalTurns: [{ turnId: 'one', outcome: 'completed' }] })
    const active = snapshot({ activeTurn: turn('one') })
    for (const [local, server] of [
      [ended, active],
      [active, ended],
    ] as const) {
      expect(merge({ base: undefined, local, server, lease: lease('one') }).snapshot.activeTurn).toBeUndefined()
    }
  })
})

test('updatedAt is the later one, by its instant', () => {
  const early = snapshot({ updatedAt: '2026-10-01T12:00:00.000+02:00' })
  const late = snapshot({ updatedAt: '2026-10-01T11:00:00.000Z' })
  expect(merge({ base: undefined, local: early, server: late }).snapshot.updatedAt).toBe(late.updatedAt)
  expect(merge({ base: undefined, local: late, server: early }).snapshot.updatedAt).toBe(late.updatedAt)
})

test('another definition, revision or session does not merge', () => {
  expect(isMergeable(snapshot(), snapshot({ cursor: 9 }))).toBe(true)
  expect(isMergeable(snapshot(), snapshot({ definitionId: 'other' }))).toBe(false)
  expect(isMergeable(snapshot(), snapshot({ definitionRevision: 2 }))).toBe(false)
  expect(isMergeable(snapshot(), snapshot({ sessionId: 'other' }))).toBe(false)
})
