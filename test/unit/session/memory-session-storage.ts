import { decodeSnapshot } from '../../../src/contract/decode-snapshot.ts'
import type { Snapshot } from '../../../src/contract/session-snapshot.ts'
import type { SessionStorage } from '../../../src/contract/session-storage.ts'

export interface MemorySessionStorage extends SessionStorage {
  /** What is stored, as a reader of the disk would see it. */
  readonly read: (sessionId: string) => Snapshot | undefined
  /** Overwrites a row with something that no save could have stored. */
  readonly corrupt: (sessionId: string, row: string) => void
  /** Every save that was asked for, in order. */
  readonly saves: { readonly snapshot: Snapshot; readonly expectedCursor: number | undefined }[]
}

/** The reference: compare-and-set over JSON text in a map, which isolates it from whoever calls it. */
export function createMemorySessionStorage(): MemorySessionStorage {
  const rows = new Map<string, string>()
  const saves: MemorySessionStorage['saves'] = []

  function read(sessionId: string): Snapshot | undefined {
    const row = rows.get(sessionId)
    if (row === undefined) return undefined
    const decoded = decodeSnapshot(row)
    if (!decoded.ok) throw new Error(decoded.diagnostic.code)
    return decoded.snapshot
  }

  return {
    saves,
    read,
    corrupt: (sessionId, row) => rows.set(sessionId, row),
    async load(sessionId, signal) {
      signal?.throwIfAborted()
      return read(sessionId)
    },
    async save(snapshot, expectedCursor, signal) {
      signal?.throwIfAborted()
      saves.push({ snapshot: structuredClone(snapshot), expectedCursor })
      requireAdvance(snapshot, expectedCursor)
      const decoded = decodeSnapshot(snapshot)
      if (!decoded.ok) throw new TypeError(decoded.diagnostic.code)
      if (read(snapshot.sessionId)?.cursor !== expectedCursor) return false
      rows.set(snapshot.sessionId, JSON.stringify(decoded.snapshot))
      return true
    },
    async delete(sessionId, signal) {
      signal?.throwIfAborted()
      rows.delete(sessionId)
    },
  }
}

function requireAdvance({ cursor }: Snapshot, expectedCursor: number | undefined): void {
  if (expectedCursor === undefined) return
  if (!Number.isSafeInteger(expectedCursor) || expectedCursor < 0) throw new TypeError('expectedCursor')
  if (cursor <= expectedCursor) throw new TypeError('cursor')
}
