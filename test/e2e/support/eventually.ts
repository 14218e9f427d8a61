import { expect, vi } from 'vitest'

const BOUND_MS = 15_000
const INTERVAL_MS = 40

/** Asserts what becomes true by itself: asks again until it is, and fails with the last answer after a bound. */
export function eventually<T>(read: () => T | Promise<T>, boundMs = BOUND_MS) {
  return expect.poll(read, { timeout: boundMs, interval: INTERVAL_MS })
}

/** Asserts that what two sides show becomes the same, whatever it is. */
export function eventuallyEqual<T>(one: () => Promise<T>, other: () => Promise<T>): Promise<void> {
  const compare = async () => expect(await one()).toEqual(await other())
  return vi.waitFor(compare, { timeout: BOUND_MS, interval: INTERVAL_MS })
}
