/** Reads bytes in order and never past their end, also where they are a view of a larger buffer. Throws RangeError. */
export interface ByteReader {
  readonly remaining: () => number
  readonly byte: () => number
  /** Little groups of seven bits, lowest first; at most 53 bits in at most 8 bytes. */
  readonly varUint: () => number
  readonly skip: (count: number) => void
  /** A view, not a copy. */
  readonly take: (count: number) => Uint8Array
}

/** 8 groups of 7 bits hold every safe integer; a longer form of a number is not one that a Yjs client writes. */
const MAX_VAR_UINT_BYTES = 8

export function createByteReader(bytes: Uint8Array): ByteReader {
  let at = 0
  const remaining = () => bytes.length - at

  function byte(): number {
    const next = bytes[at]
    if (next === undefined) throw new RangeError('past the end')
    at++
    return next
  }

  function varUint(): number {
    let value = 0
    let unit = 1
    for (let count = 0; count < MAX_VAR_UINT_BYTES; count++) {
      const next = byte()
      value += (next & 0x7f) * unit
      unit *= 128
      if (next < 0x80) {
        if (!Number.isSafeInteger(value)) break
        return value
      }
    }
    throw new RangeError('a number beyond 53 bits')
  }

  function skip(count: number): void {
    if (count > remaining()) throw new RangeError('past the end')
    at += count
  }

  function take(count: number): Uint8Array {
    skip(count)
    return bytes.subarray(at - count, at)
  }

  return { remaining, byte, varUint, skip, take }
}
