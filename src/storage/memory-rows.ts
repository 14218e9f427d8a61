import type { MemoryDisk } from './memory-disk.ts'
import type { Rows } from './rows.ts'
import { type OutboxKey, outboxKeyOf } from './schema.ts'

/** Values are copied on the way in and out, as IndexedDB does. `undo` gets the way back of each write. */
export function memoryRows(disk: MemoryDisk, undo: (back: () => void) => void): Rows {
  const outboxOf = (sessionId?: string) =>
    [...disk.outbox.values()].filter(({ value }) => sessionId === undefined || sessionIdOf(value) === sessionId)

  const updatesOf = (sessionId: string, fromSeq: number, toSeq: number) =>
    [...(disk.updates.get(sessionId) ?? [])]
      .filter(([seq]) => seq >= fromSeq && seq <= toSeq)
      .sort(([one], [other]) => one - other)

  function set<Key, Value>(map: Map<Key, Value>, key: Key, value: Value | undefined): void {
    const before = map.get(key)
    undo(() => place(map, key, before))
    place(map, key, value)
  }

  function updatesMap(sessionId: string): Map<number, unknown> {
    const found = disk.updates.get(sessionId)
    if (found) return found
    const made = new Map<number, unknown>()
    disk.updates.set(sessionId, made)
    return made
  }

  return {
    session: async (sessionId) => structuredClone(disk.sessions.get(sessionId)),
    sessions: async () => structuredClone([...disk.sessions.values()]),
    sessionIds: async () => [...disk.sessions.keys()],
    outbox: async (sessionId) => structuredClone(outboxOf(sessionId).map(({ value }) => value)),
    outboxKeys: async (sessionId) => outboxOf(sessionId).map(({ key }) => key),
    updates: async (sessionId, fromSeq, toSeq) =>
      structuredClone(updatesOf(sessionId, fromSeq, toSeq).map(([, value]) => value)),
    updateSeqs: async (sessionId, fromSeq, toSeq) => updatesOf(sessionId, fromSeq, toSeq).map(([seq]) => seq),
    lastSeq: async (sessionId) => Math.max(0, ...(disk.updates.get(sessionId)?.keys() ?? [])),
    meta: async () => structuredClone(disk.meta),

    putSession: (row) => set(disk.sessions, row.sessionId, structuredClone(row)),
    removeSession: (sessionId) => set(disk.sessions, sessionId, undefined),
    putOutbox(row) {
      const key = outboxKeyOf(row)
      set(disk.outbox, nameOf(key), { key, value: structuredClone(row) })
    },
    removeOutbox: (key) => set(disk.outbox, nameOf(key), undefined),
    putUpdate: (row) => set(updatesMap(row.sessionId), row.seq, structuredClone(row)),
    removeUpdates(sessionId, fromSeq, toSeq) {
      for (const [seq] of updatesOf(sessionId, fromSeq, toSeq)) set(updatesMap(sessionId), seq, undefined)
    },
    putMeta(row) {
      const before = disk.meta
      undo(() => {
        disk.meta = before
      })
      disk.meta = structuredClone(row)
    },
  }
}

function place<Key, Value>(map: Map<Key, Value>, key: Key, value: Value | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}

function sessionIdOf(value: unknown): unknown {
  return (value as { sessionId?: unknown } | null | undefined)?.sessionId
}

function nameOf(key: OutboxKey): string {
  return JSON.stringify(key)
}
