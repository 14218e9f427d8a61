/** An access token, or the way to get one; asked before every request. */
export type AccessToken = string | (() => string | undefined | Promise<string | undefined>) | undefined

/** Takes as long as the host takes: whoever waits for it sets a bound. */
export async function readAccessToken(token: AccessToken): Promise<string | undefined> {
  return typeof token === 'function' ? token() : token
}
