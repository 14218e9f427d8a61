/** A JSON value; objects have `Object.prototype` or no prototype. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

export interface JsonBounds {
  readonly maxNodes: number
  readonly maxDepth: number
  readonly maxStringLength: number
  readonly maxKeyLength: number
  readonly maxEntries: number
}

/** The bounds of a confirmation's `input`, from the session envelope. */
export const CONFIRMATION_INPUT_BOUNDS: JsonBounds = {
  maxNodes: 1000,
  maxDepth: 20,
  maxStringLength: 16_384,
  maxKeyLength: 256,
  maxEntries: 1000,
}

/**
 * True if `value` is a plain JSON object within `bounds`. An object that is referenced twice is refused even when it
 * is acyclic: the envelope could not be told apart from its copy. Never throws, also not on a hostile proxy.
 */
export function isBoundedJsonObject(value: unknown, bounds: JsonBounds): value is JsonObject {
  try {
    return isPlainObject(value) && withinBounds(value, bounds)
  } catch {
    return false
  }
}

/** Iterative, so that a deep value ends in `false` and not in a stack overflow. */
function withinBounds(root: object, bounds: JsonBounds): boolean {
  const seen = new Set<object>()
  const open: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }]
  let nodes = 0
  for (let next = open.pop(); next; next = open.pop()) {
    if (++nodes > bounds.maxNodes || next.depth > bounds.maxDepth) return false
    const { value } = next
    if (value === null || typeof value === 'boolean') continue
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) return false
      continue
    }
    if (typeof value === 'string') {
      if (value.length > bounds.maxStringLength) return false
      continue
    }
    if (typeof value !== 'object' || seen.has(value)) return false
    seen.add(value)
    const children = childrenOf(value, bounds)
    if (!children) return false
    for (const child of children) open.push({ value: child, depth: next.depth + 1 })
  }
  return true
}

/** Read through descriptors, so that no accessor runs: what was checked is what a clone then copies. */
function childrenOf(value: object, bounds: JsonBounds): unknown[] | undefined {
  const isArray = Array.isArray(value)
  if (!isArray && !isPlainObject(value)) return undefined
  const keys = Reflect.ownKeys(value).filter((key) => !(isArray && key === 'length'))
  if (keys.length > bounds.maxEntries || (isArray && keys.length !== value.length)) return undefined
  const children: unknown[] = []
  for (const key of keys) {
    if (typeof key !== 'string' || key.length > bounds.maxKeyLength) return undefined
    if (isArray && !isIndex(key, value.length)) return undefined
    const property = Object.getOwnPropertyDescriptor(value, key)
    if (!property?.enumerable || !('value' in property)) return undefined
    children.push(property.value)
  }
  return children
}

function isIndex(key: string, length: number): boolean {
  const index = Number(key)
  return Number.isInteger(index) && index >= 0 && index < length && String(index) === key
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
