import type { DBSchema } from 'idb'
import type { OutboxRow } from '../core/device-session.ts'

/** Raised with every change of a store or an index; `createStores` then brings an older database along. */
export const SCHEMA_VERSION = 1

export type StoreName = 'sessions' | 'updates' | 'outbox' | 'meta'

/** A claim by its `claimId`; a delete by session and incarnation, an array so that it can never equal a `claimId`. */
export type OutboxKey = string | [sessionId: string, incarnation: string]

export const META_KEY = 'device'

/** Values are `unknown`: what is on disk was written by any version of anything, and is checked before it is believed. */
export interface Schema extends DBSchema {
  sessions: { key: string; value: unknown }
  updates: { key: [sessionId: string, seq: number]; value: unknown }
  outbox: { key: OutboxKey; value: unknown; indexes: { sessionId: string } }
  meta: { key: string; value: unknown }
}

export function outboxKeyOf(row: OutboxRow): OutboxKey {
  return row.kind === 'claim' ? row.claimId : deleteKey(row.sessionId, row.incarnation)
}

export function deleteKey(sessionId: string, incarnation: string): OutboxKey {
  return [sessionId, incarnation]
}

/** Runs in the upgrade transaction. */
export function createStores(db: IDBDatabase): void {
  db.createObjectStore('sessions', { keyPath: 'sessionId' })
  db.createObjectStore('updates', { keyPath: ['sessionId', 'seq'] })
  db.createObjectStore('outbox').createIndex('sessionId', 'sessionId')
  db.createObjectStore('meta')
}
