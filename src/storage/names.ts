import { RejoinError } from '../errors.ts'

/** UTF-16 code units. The account's bound is the wire's. */
export const MAX_ACCOUNT_LENGTH = 256
export const MAX_REALM_LENGTH = 128

/** What one account in one realm calls its things on this origin; no other account or realm makes these names (G10). */
export interface Names {
  readonly database: string
  readonly channel: (purpose: string) => string
  readonly lock: (purpose: string) => string
}

/** Rejects an empty or too long `account` or `realm` with `refused`. */
export function namesOf(account: string, realm: string): Names {
  const scope = `rejoin/${part('account', account, MAX_ACCOUNT_LENGTH)}/${part('realm', realm, MAX_REALM_LENGTH)}`
  const named = (purpose: string) => `${scope}/${escaped(purpose)}`
  return { database: scope, channel: named, lock: named }
}

function part(what: string, value: string, maxLength: number): string {
  if (typeof value === 'string' && value.length >= 1 && value.length <= maxLength) return escaped(value)
  throw new RejoinError('refused', `The ${what} must be a string of 1 to ${maxLength} characters.`, {
    hint: `Hand openRejoin the ${what} that the server knows, or a short stable name of your own.`,
  })
}

/**
 * By code unit and not by `encodeURIComponent`: that one throws on half a surrogate pair, and names with halves in them
 * come out of a browser's storage as equal replacement characters.
 */
function escaped(value: string): string {
  return value.replace(/[^A-Za-z0-9._:@-]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
