import type { IncomingHttpHeaders } from 'node:http'

const LOOPBACK_ADDRESSES: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost'])

export function isLoopback(host: string): boolean {
  return LOOPBACK_ADDRESSES.has(host) || /^127(\.\d{1,3}){3}$/.test(host)
}

/**
 * True if the request was addressed to this machine by a name that only this machine answers to. Another name that
 * leads here is a page that had its own name point at us (DNS rebinding).
 */
export function namesLoopback({ host }: IncomingHttpHeaders): boolean {
  if (host === undefined) return false
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  return isLoopback(name) || name.endsWith('.localhost')
}

/**
 * True if a socket may be opened from where the request comes: the page of this very host, one of the allowed origins,
 * or something that is no browser and so names none. `null`, as a sandboxed page says, is a foreign origin.
 */
export function isAllowedOrigin({ origin, host }: IncomingHttpHeaders, allowed: readonly string[]): boolean {
  if (origin === undefined || allowed.includes(origin)) return true
  return URL.canParse(origin) && new URL(origin).host === host
}
