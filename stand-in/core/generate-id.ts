import { type PersistenceRegime, persistenceRegime } from './persistence-regime.ts'

let made = 0

/**
 * Up to 1.12.8 an id is the time and a counter per copy of the module, so two tabs can make the same one in the same
 * millisecond; later it is a UUID.
 */
export function generateId(prefix = 'msg', regime: PersistenceRegime = persistenceRegime()): string {
  return regime === 'finalized' ? crypto.randomUUID() : `${prefix}-${Date.now()}-${++made}`
}
