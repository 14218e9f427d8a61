import type { OutboxKey } from './schema.ts'

/** The stores in memory, as plain data. It outlives the databases that are opened on it, as a real disk does. */
export interface MemoryDisk {
  readonly sessions: Map<string, unknown>
  readonly outbox: Map<string, { readonly key: OutboxKey; readonly value: unknown }>
  readonly updates: Map<string, Map<number, unknown>>
  meta: unknown
  /** The end of the last transaction: they go one after the other. */
  idle: Promise<unknown>
}

export function createMemoryDisk(): MemoryDisk {
  return { sessions: new Map(), outbox: new Map(), updates: new Map(), meta: undefined, idle: Promise.resolve() }
}
