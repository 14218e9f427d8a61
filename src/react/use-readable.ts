import { useSyncExternalStore } from 'react'
import type { Readable } from './readable.ts'

/** Renders again whenever the value changed. On a server it renders the value that is there. */
export function useReadable<T>(readable: Readable<T>): T {
  return useSyncExternalStore(readable.subscribe, readable.get, readable.get)
}
