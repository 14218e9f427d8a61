import { expect, test } from 'vitest'
import { decodeSnapshot } from '../../../src/contract/decode-snapshot.ts'
import type { Snapshot } from '../../../src/contract/session-snapshot.ts'
import { confirmation, decision, fullSnapshot, snapshot } from './snapshots.ts'

function decoded(input: unknown): Snapshot {
  const result = decodeSnapshot(input)
  if (!result.ok) throw new Error(`expected a snapshot, got ${result.diagnostic.code}`)
  return result.snapshot
}

function code(input: unknown): string | undefined {
  const result = decodeSnapshot(input)
  return result.ok ? undefined : result.diagnostic.code
}

const INVALID = 'SESSION_INVALID_SNAPSHOT'
const UNSUPPORTED = 'SESSION_UNSUPPORTED_VERSION'

test('E1 a valid v1 object decodes to an equal object', () => {
  expect(decoded(fullSnapshot())).toEqual(fullSnapshot())
  expect(decoded(snapshot())).toEqual(snapshot())
})

test('E1 the JSON text of a valid snapshot decodes to the same', () => {
  expect(decoded(JSON.stringify(fullSnapshot()))).toEqual(fullSnapshot())
})

test('E1 JSON text of JSON text is not a snapshot', () => {
  expect(code(JSON.stringify(JSON.stringify(fullSnapshot())))).toBe(INVALID)
})

test('E2 version 0 without a protocol, or with any, decodes to v1', () => {
  const { protocol: _, ...rest } = fullSnapshot()
  expect(decoded({ ...rest, version: 0 })).toEqual(fullSnapshot())
  for (const protocol of ['something.else', 7, null, { nested: true }]) {
    expect(decoded({ ...rest, protocol, version: 0 })).toEqual(fullSnapshot())
  }
})

test('E2 version 0 is validated as a whole after its migration', () => {
  expect(code({ ...fullSnapshot(), version: 0, cursor: -1 })).toBe(INVALID)
  expect(code({ version: 0 })).toBe(INVALID)
})

test('E3 a string that is not JSON is not a snapshot', () => {
  for (const text of ['', 'not json', '{', 'undefined', '{"version":1,}']) expect(code(text)).toBe(INVALID)
})

test('E4 a version other than 0 and 1 is unsupported, whatever else it holds', () => {
  for (const version of [2, 9, 1.5, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(code({ version })).toBe(UNSUPPORTED)
    expect(code({ ...fullSnapshot(), version })).toBe(UNSUPPORTED)
  }
  expect(code('{"version":99}')).toBe(UNSUPPORTED)
})

test('E4 a diagnostic is not retryable and says nothing about the content', () => {
  for (const input of [
    { version: 9, secret: 'hunter2' },
    { ...fullSnapshot(), sessionId: 'hunter2 secret' },
  ]) {
    const result = decodeSnapshot(input)
    expect(result).toMatchObject({ ok: false, diagnostic: { retryable: false } })
    expect(JSON.stringify(result)).not.toContain('hunter2')
    expect(Object.keys(result.ok ? {} : result.diagnostic).sort()).toEqual(['code', 'message', 'retryable'])
  }
})

test('E4 a version that is not a number is invalid, not unsupported', () => {
  for (const version of [undefined, null, '1', true, 1n, {}, []])
    expect(code({ ...fullSnapshot(), version })).toBe(INVALID)
  const { version: _, ...missing } = fullSnapshot()
  expect(code(missing)).toBe(INVALID)
})

test('E3 what is no record is invalid and nothing throws', () => {
  const views = [new Uint8Array(8), new DataView(new ArrayBuffer(8)), new Float64Array(2)]
  for (const input of [undefined, null, 0, 1, true, Symbol('x'), () => 1, [], [fullSnapshot()], ...views]) {
    expect(code(input)).toBe(INVALID)
  }
})

test('E3 a hostile proxy or accessor ends in a diagnostic, never in a throw', () => {
  const traps: ProxyHandler<object>[] = [
    { get: () => fail() },
    { has: () => fail(), ownKeys: () => fail(), getOwnPropertyDescriptor: () => fail() },
    { getPrototypeOf: () => fail() },
  ]
  for (const trap of traps) {
    expect(decodeSnapshot(new Proxy(fullSnapshot(), trap))).toHaveProperty('ok')
    const inside = snapshot({ confirmations: [confirmation({ input: new Proxy({ a: 1 }, trap) as never })] })
    expect(code(inside)).toBe(INVALID)
  }
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  expect(code(proxy)).toBe(INVALID)
  expect(code(Object.defineProperty({}, 'version', { get: fail }))).toBe(INVALID)
  expect(code({ ...fullSnapshot(), confirmations: Object.defineProperty([], 'length', { value: 3 }) })).toBe(INVALID)
})

function fail(): never {
  throw new Error('hostile')
}

test('E3 four billion holes, and a proxy that claims as many, are refused without being walked', () => {
  const holes: unknown = new Array(2 ** 32 - 1)
  let asked = 0
  const endless: unknown = new Proxy([], {
    get: (_, key) => (key === 'length' ? (asked++ === 0 ? 1 : 2 ** 32 - 1) : confirmation()),
  })
  for (const many of [holes, endless]) {
    expect(code({ ...snapshot(), confirmations: many, terminalTurns: many })).toBe(INVALID)
    expect(code({ ...snapshot(), conversation: { state: 'idle', decisions: many } })).toBe(INVALID)
  }
})

test('E1 unknown keys are dropped at every level', () => {
  const extra = { surprise: 1 }
  const full = fullSnapshot()
  expect(
    decoded({
      ...full,
      ...extra,
      activeTurn: { ...full.activeTurn, ...extra },
      terminalTurns: full.terminalTurns?.map((turn) => ({ ...turn, ...extra })),
      conversation: { ...full.conversation, ...extra, decisions: [{ ...decision(), ...extra }] },
      confirmations: full.confirmations.map((each) => ({ ...each, ...extra })),
    }),
  ).toEqual(full)
})

test('E1 the result shares nothing with the input, and can be cloned', () => {
  const input = structuredClone(fullSnapshot()) as unknown as { confirmations: { input: Record<string, unknown> }[] }
  const result = decoded(input)
  const record = input.confirmations[0]
  if (record) record.input.order = 'changed'
  expect(result).toEqual(fullSnapshot())
  expect(structuredClone(result)).toEqual(fullSnapshot())
})

test('E1 snapshot, conversation, decisions, confirmations and turns are frozen, the arrays are not', () => {
  const result = decoded(fullSnapshot())
  for (const each of [
    result,
    result.conversation,
    result.conversation?.decisions[0],
    result.confirmations[0],
    result.activeTurn,
    result.terminalTurns?.[0],
  ]) {
    expect(Object.isFrozen(each)).toBe(true)
  }
  for (const list of [result.confirmations, result.conversation?.decisions, result.terminalTurns]) {
    expect(Object.isFrozen(list)).toBe(false)
  }
})

test('E5 a confirmation input that is not bounded plain JSON is refused', () => {
  const shared = { a: 1 }
  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic
  let deep: unknown = 1
  for (let level = 0; level < 21; level++) deep = { deep }
  const inputs: unknown[] = [
    { run: () => 1 },
    { at: new Date(0) },
    { map: new Map() },
    { missing: undefined },
    { nan: Number.NaN },
    { infinite: Number.POSITIVE_INFINITY },
    { big: 1n },
    { symbol: Symbol('x') },
    { [Symbol('key')]: 1 },
    { bytes: new Uint8Array(1) },
    { first: shared, second: shared },
    { holes: new Array(3) },
    { items: Object.assign([1], { extra: 1 }) },
    { items: Object.assign(new Array(2), { 1: 1, extra: 1 }) },
    {
      get accessor() {
        return 1
      },
    },
    { items: Object.defineProperty([1], 0, { get: () => 1, enumerable: true }) },
    { instance: new (class Refund {})() },
    { text: 'x'.repeat(16_385) },
    { ['k'.repeat(257)]: 1 },
    { items: new Array(1001).fill(0) },
    Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`k${index}`, 1])),
    { a: new Array(500).fill(0), b: new Array(500).fill(0) },
    deep,
    cyclic,
    [],
    null,
    'text',
  ]
  for (const input of inputs)
    expect(code(snapshot({ confirmations: [confirmation({ input: input as never })] }))).toBe(INVALID)
})

test('E5 a confirmation input at its bounds is kept whole', () => {
  let deep: unknown = 1
  for (let level = 0; level < 20; level++) deep = { deep }
  const inputs: unknown[] = [
    {},
    deep,
    Object.assign(Object.create(null), { bare: true }),
    { text: 'x'.repeat(16_384), ['k'.repeat(256)]: '' },
    { items: new Array(998).fill(0) },
    JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":1},"toString":"x"}'),
  ]
  for (const input of inputs) {
    const result = decoded(snapshot({ confirmations: [confirmation({ input: input as never })] }))
    expect(JSON.stringify(result.confirmations[0]?.input)).toBe(JSON.stringify(input))
  }
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
})

test('E6 two confirmations of one token or one tool call are refused', () => {
  expect(code(snapshot({ confirmations: [confirmation(), confirmation({ toolCallId: 'app-2' })] }))).toBe(INVALID)
  expect(code(snapshot({ confirmations: [confirmation(), confirmation({ token: 'confirm-2' })] }))).toBe(INVALID)
})

test('E6 two decisions of one message, or two ends of one turn, are refused', () => {
  const decisions = [decision(), decision({ fromState: 'active' })]
  expect(code(snapshot({ conversation: { state: 'active', decisions } }))).toBe(INVALID)
  const turn = { turnId: 'turn-1', outcome: 'completed' } as const
  expect(code(snapshot({ terminalTurns: [turn, { ...turn, outcome: 'indeterminate' }] }))).toBe(INVALID)
})

test('E1 each field is refused one step beyond its bound and kept at it', () => {
  const ids = (count: number) => Array.from({ length: count }, (_, index) => `id-${index}`)
  const confirmations = (count: number) =>
    ids(count).map((id) => confirmation({ token: id, toolCallId: `call-${id}`, input: {} }))
  const decisions = (count: number) => ids(count).map((messageId) => decision({ messageId, toState: 'idle' }))
  const turns = (count: number) => ids(count).map((turnId) => ({ turnId, outcome: 'completed' as const }))
  const longId = `a${'b'.repeat(127)}`
  const good: Partial<Record<keyof Snapshot, unknown>>[] = [
    { sessionId: longId, definitionId: 'A.b_c:d-e' },
    { definitionRevision: Number.MAX_SAFE_INTEGER },
    { cursor: 0 },
    { updatedAt: '2026-10-01T12:00:00Z' },
    { updatedAt: '2024-02-29T23:59:59.123-11:00' },
    { activeTurn: { turnId: longId, expiresAt: 0 } },
    { terminalTurns: turns(64) },
    { conversation: { state: 's'.repeat(128), decisions: [] } },
    { conversation: { state: 'idle', decisions: decisions(1000) } },
    {
      conversation: {
        state: 'idle',
        decisions: [decision({ input: 'x'.repeat(16_384), content: 'y'.repeat(65_536) })],
      },
    },
    { confirmations: confirmations(1000) },
    { confirmations: [confirmation({ expiresAt: 0 })] },
  ]
  for (const change of good) expect(code({ ...snapshot(), ...change })).toBeUndefined()
  const bad: Partial<Record<keyof Snapshot, unknown>>[] = [
    { protocol: 'other' },
    { sessionId: `${longId}x` },
    { sessionId: '' },
    { sessionId: '-starts-wrong' },
    { sessionId: 'has space' },
    { sessionId: 'has/slash' },
    { sessionId: 'ünïcode' },
    { sessionId: 'line\n' },
    { definitionRevision: 0 },
    { definitionRevision: 1.5 },
    { definitionRevision: Number.MAX_SAFE_INTEGER + 1 },
    { cursor: -1 },
    { cursor: 0.5 },
    { cursor: 2 ** 53 },
    { cursor: '1' },
    { updatedAt: '2026-10-01T12:00:00' },
    { updatedAt: '2026-10-01' },
    { updatedAt: '2026-13-01T12:00:00Z' },
    { updatedAt: 0 },
    { activeTurn: null },
    { activeTurn: { turnId: 'turn-1' } },
    { activeTurn: { turnId: 'turn-1', expiresAt: -1 } },
    { terminalTurns: turns(65) },
    { terminalTurns: [{ turnId: 'turn-1', outcome: 'failed' }] },
    { conversation: null },
    { conversation: { state: '', decisions: [] } },
    { conversation: { state: 's'.repeat(129), decisions: [] } },
    { conversation: { state: 'idle', decisions: decisions(1001) } },
    { conversation: { state: 'idle', decisions: [decision({ input: 'x'.repeat(16_385) })] } },
    { conversation: { state: 'idle', decisions: [decision({ content: 'y'.repeat(65_537) })] } },
    { conversation: { state: 'idle', decisions: [decision({ kind: 'agentic' as never })] } },
    { conversation: { state: 'idle', decisions: [decision({ routeId: '' })] } },
    { confirmations: undefined },
    { confirmations: confirmations(1001) },
    { confirmations: [confirmation({ status: 'done' as never })] },
    { confirmations: [confirmation({ expiresAt: 2 ** 53 })] },
    { confirmations: [confirmation({ action: 'two words' })] },
  ]
  for (const change of bad) expect(code({ ...snapshot(), ...change })).toBe(INVALID)
})
