import { createHmac } from 'node:crypto'

/** At least as long as the server asks for. */
export const JWT_SECRET = 'a secret that only the end-to-end tests and their server know'

/** An access token for a person in an account, signed with {@link JWT_SECRET}; it ends after an hour. */
export function accessToken(account: string, sub = 'somebody'): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + 3600
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ account, sub, exp })}`
  return `${signed}.${createHmac('sha256', JWT_SECRET).update(signed).digest('base64url')}`
}
