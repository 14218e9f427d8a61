import type { Readable } from './readable.ts'
import { useReadable } from './use-readable.ts'

/** The decisions on confirmations, of this device and, as far as it knows them, of the others. */
export function useClaims<T>(rejoin: { readonly claims: Readable<T> }): T {
  return useReadable(rejoin.claims)
}
