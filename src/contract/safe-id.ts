import * as z from 'zod/mini'

const SAFE_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/

/** 1 to 128 ASCII characters, no slash and no space: the only form in which ids cross the session envelope. */
export const SafeId = z.string().check(z.regex(SAFE_ID))

export function isSafeId(value: unknown): value is string {
  return typeof value === 'string' && SAFE_ID.test(value)
}
