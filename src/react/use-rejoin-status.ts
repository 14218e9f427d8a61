import type { Readable } from './readable.ts'
import { useReadable } from './use-readable.ts'

/** How far this device's state is stored and sent; `synced` means that the server durably holds everything. */
export function useRejoinStatus<T>(rejoin: { readonly status: Readable<T> }): T {
  return useReadable(rejoin.status)
}
