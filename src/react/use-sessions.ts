import type { Readable } from './readable.ts'
import { useReadable } from './use-readable.ts'

/** The sessions of the account that this device knows. */
export function useSessions<T>(rejoin: { readonly sessions: Readable<T> }): T {
  return useReadable(rejoin.sessions)
}
