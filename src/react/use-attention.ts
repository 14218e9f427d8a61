import type { Readable } from './readable.ts'
import { useReadable } from './use-readable.ts'

/** What a person has to look at, with what they can do about it. */
export function useAttention<T>(rejoin: { readonly attention: Readable<T> }): T {
  return useReadable(rejoin.attention)
}
