/** Deeper values are refused on the way in, so that nobody who reads them can run out of stack. */
export const MAX_VALUE_DEPTH = 64

/**
 * JSON text with sorted keys: equal values are equal texts. As `JSON.stringify` it leaves out `undefined` members, lets
 * `toJSON` speak and turns what is not finite into `null`.
 *
 * @throws TypeError for what JSON cannot hold: cycles, BigInts, values deeper than {@link MAX_VALUE_DEPTH}.
 */
export function canonicalJson(value: unknown): string | undefined {
  return write(value, '', MAX_VALUE_DEPTH)
}

function write(given: unknown, key: string, depth: number): string | undefined {
  const value = spoken(given, key)
  if (value === null) return 'null'
  if (typeof value === 'string' || typeof value === 'boolean') return JSON.stringify(value)
  if (typeof value === 'number') return Number.isFinite(value) ? JSON.stringify(value) : 'null'
  if (typeof value === 'bigint') throw new TypeError('A BigInt has no form in JSON.')
  if (typeof value !== 'object') return undefined
  if (depth === 0) throw new TypeError(`The value is cyclic or nested deeper than ${MAX_VALUE_DEPTH} levels.`)
  if (Array.isArray(value)) {
    return `[${value.map((item, index) => write(item, String(index), depth - 1) ?? 'null').join(',')}]`
  }
  const members = Object.keys(value)
    .sort()
    .flatMap((name) => {
      const text = write((value as Record<string, unknown>)[name], name, depth - 1)
      return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`]
    })
  return `{${members.join(',')}}`
}

function spoken(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return value.valueOf()
  const { toJSON } = value as { toJSON?: unknown }
  return typeof toJSON === 'function' ? toJSON.call(value, key) : value
}
