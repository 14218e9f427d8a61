import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CONFIRMATION_INPUT_BOUNDS, isBoundedJsonObject } from '../../../src/contract/bounded-json.ts'
import { decodeSnapshot } from '../../../src/contract/decode-snapshot.ts'
import { isSafeId } from '../../../src/contract/safe-id.ts'
import { fullSnapshot } from './snapshots.ts'

const RUNS = 20_000

function fail(): never {
  throw new Error('hostile')
}

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 'core'
  for (let at = 0; at < depth; at++) value = wrap(value)
  return value
}

function cyclic(): unknown {
  const all: unknown[] = []
  const one: Record<string, unknown> = { all }
  one.self = one
  all.push(one, all)
  return one
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const LIE = 2 ** 32 - 1
const DEEP_ARRAY = nested(100_000, (inner) => [inner])
const DEEP_OBJECT = nested(100_000, (inner) => ({ inner }))
const HUGE = 'x'.repeat(100_000)
const HUGE_AND_BROKEN = `${HUGE}\ud800`
const traps: readonly ProxyHandler<object>[] = [
  { get: fail },
  { has: fail, ownKeys: fail },
  { getOwnPropertyDescriptor: fail },
  { getPrototypeOf: fail },
  { get: (target, key) => (key === 'length' ? LIE : Reflect.get(target, key)) },
  { get: (target, key) => (key === 'then' ? fail : Reflect.get(target, key)) },
  { ownKeys: () => Array.from({ length: 2000 }, (_, at) => `key${at}`) },
]

/** Each made anew: what was handed in once may have been frozen or changed. */
const monsters: readonly (() => unknown)[] = [
  cyclic,
  revoked,
  () => DEEP_ARRAY,
  () => DEEP_OBJECT,
  () => HUGE,
  () => HUGE_AND_BROKEN,
  () => '\ud800\udfff\ud800',
  () => new Array(LIE),
  () => Object.create(null, { toJSON: { value: fail, enumerable: true } }),
  () => Object.defineProperty({}, 'length', { get: fail, enumerable: true }),
  () => JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
  () => Object.assign(Object.create({ inherited: true }), fullSnapshot()),
  () => Symbol('hostile'),
  () => fail,
  () => class Hostile {},
  () => new Error('hostile'),
  () => new ArrayBuffer(8),
  () => Promise.resolve(fullSnapshot()),
  () => ({ [Symbol.toPrimitive]: fail, valueOf: fail, toString: fail }),
  ...traps.map((trap) => () => new Proxy({ ...fullSnapshot() }, trap)),
  ...traps.map((trap) => () => new Proxy([1, 2, 3], trap)),
]

const anything = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  withUnicodeString: true,
  maxDepth: 2,
  maxKeys: 4,
} as fc.ObjectConstraints)
/** Recipes: fast-check itself would stumble over the values. */
const hostile = fc.oneof(
  anything.map((value) => () => value),
  fc.constantFrom(...monsters),
)

/** All the places of a snapshot at which something else may stand. */
function placesIn(value: unknown, path: readonly (string | number)[] = []): readonly (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...path, key]))]
}

const places = placesIn(fullSnapshot()).slice(1)

function put(path: readonly (string | number)[], value: unknown): unknown {
  const root = structuredClone(fullSnapshot()) as unknown as Record<string | number, unknown>
  let at = root
  for (const key of path.slice(0, -1)) at = at[key] as Record<string | number, unknown>
  at[path.at(-1) ?? ''] = value
  return root
}

/** The value itself, or a snapshot with it in one place. */
const input = fc.tuple(hostile, fc.option(fc.constantFrom(...places)))

test('E3 E5 F62 whatever comes in, a snapshot is decoded or refused: nothing throws, nothing hangs, nothing is polluted', () => {
  let accepted = 0
  fc.assert(
    fc.property(input, ([make, place]) => {
      const result = decodeSnapshot(place ? put(place, make()) : make())
      if (!result.ok) return result.diagnostic.retryable === false
      accepted++
      // What was accepted is a snapshot for good: plain, cloneable, and the same when it is read again.
      const json = JSON.stringify(structuredClone(result.snapshot))
      const again = decodeSnapshot(json)
      expect(again.ok && JSON.stringify(again.snapshot)).toBe(json)
      return true
    }),
    { numRuns: RUNS },
  )
  expect(accepted).toBeGreaterThan(RUNS / 1000)
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
})

test('E5 F62 whatever comes in, an input of a confirmation or an id is one, or is not', () => {
  fc.assert(
    fc.property(hostile, (make) => {
      const value = make()
      expect(typeof isBoundedJsonObject(value, CONFIRMATION_INPUT_BOUNDS)).toBe('boolean')
      expect(typeof isSafeId(value)).toBe('boolean')
    }),
    { numRuns: RUNS / 10 },
  )
})
