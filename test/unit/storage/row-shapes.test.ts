import { expect, test } from 'vitest'
import type { SessionRow } from '../../../src/core/device-session.ts'
import { isMetaRow, isOutboxRow, isSessionRow, isUpdateRow } from '../../../src/storage/row-shapes.ts'
import { bytes, sampleClaim, sampleDelete, sampleRow, sampleSnapshot } from './sample-rows.ts'

const view = { token: 't1', status: 'approving', attempt: 0, doubt: false } as const
const problem = { code: 'too-large', message: 'no', retryable: false, at: 1 } as const
const lease = { turnId: 'turn1', device: 'd1', expiresAt: 5 } as const
const snapshot = {
  ...sampleSnapshot('s1', 3),
  activeTurn: { turnId: 'turn1', expiresAt: 5 },
  terminalTurns: [{ turnId: 'turn0', outcome: 'completed' }],
  conversation: {
    state: 'open',
    decisions: [
      {
        messageId: 'm1',
        input: '/help',
        routeId: 'help',
        kind: 'deterministic',
        content: 'Hello',
        fromState: 'open',
        toState: 'open',
      },
    ],
  },
  confirmations: [sampleClaim('s1', 'c1').confirmation],
} as const

const full: Required<SessionRow> = {
  ...sampleRow('s1'),
  was: ['i0'],
  local: snapshot,
  initial: 'open',
  base: { snapshot, etag: '"e"', cursor: 3, head: 0 },
  sent: { writeId: 'w1', snapshot, ifMatch: null, inDoubt: ['t1'] },
  left: { t1: '1-a' },
  claims: { t1: view },
  lease,
  epoch: '1-a',
  giveBack: true,
  incoming: {
    server: 'rejoin',
    account: 'acme',
    epoch: '1-a',
    time: 1,
    incarnation: 'i1',
    etag: '"e"',
    etagBefore: null,
    snapshot,
    head: 1,
    lastWriteId: null,
    claims: [view],
    lease,
  },
  refused: { ...problem, writeId: 'w1' },
  diverged: [...snapshot.conversation.decisions],
  seenLate: ['c0.0.a'],
  deleted: { at: 1, unsynced: true },
}

/** The same value with one field, at any depth, replaced. */
function* broken(value: object, wrong: unknown): Generator<[path: string, value: unknown]> {
  for (const [field, inner] of Object.entries(value)) {
    const put = (replacement: unknown) =>
      Array.isArray(value)
        ? value.map((each, at) => (String(at) === field ? replacement : each))
        : { ...value, [field]: replacement }
    yield [field, put(wrong)]
    if (typeof inner !== 'object' || inner === null || inner instanceof Uint8Array) continue
    for (const [path, replacement] of broken(inner, wrong)) yield [`${field}.${path}`, put(replacement)]
  }
}

/** A confirmation's `input` is the host's: any object. */
const isFree = (path: string) => /\binput\./.test(path)

test.each<[string, (value: unknown) => boolean, object]>([
  ['session', isSessionRow, full],
  ['session in its least form', isSessionRow, sampleRow('s1')],
  [
    'claim',
    isOutboxRow,
    {
      ...sampleClaim('s1', 'c1'),
      outcome: 'approved',
      expectedCursor: 3,
      wonAt: 6,
      startedAt: 7,
      foreign: true,
      problem,
      undeliverable: problem,
    },
  ],
  ['claim of an earlier version', isOutboxRow, sampleClaim('s1', 'c1')],
  ['delete', isOutboxRow, { ...sampleDelete('s1', 'i1'), problem }],
  ['update', isUpdateRow, { sessionId: 's1', incarnation: 'i1', seq: 1, origin: 'server', bytes: bytes(1) }],
  [
    'meta',
    isMetaRow,
    {
      device: 'd1',
      label: '',
      account: 'acme',
      realm: 'default',
      serverId: 'rejoin',
      epoch: '1-a',
      since: 0,
      clockOffsetMs: -5,
    },
  ],
])('F33 a %s row is let through, and is not with any one field of another type', (_, isRow, row) => {
  expect(isRow(row)).toBe(true)
  expect(isRow(structuredClone(row))).toBe(true)
  for (const wrong of [Symbol('wrong'), Number.NaN]) {
    const passed = [...broken(row, wrong)].filter(([path, value]) => !isFree(path) && isRow(value))
    expect(passed.map(([path]) => path)).toEqual([])
  }
})

test.each([
  ['session', isSessionRow],
  ['outbox', isOutboxRow],
  ['update', isUpdateRow],
  ['meta', isMetaRow],
])('F33 no %s row is nothing, a text, a list or half a row', (_, isRow) => {
  for (const value of [undefined, null, 'half', 7, [], {}, { kind: 'claim' }, { sessionId: 's1' }]) {
    expect(isRow(value)).toBe(false)
  }
})
