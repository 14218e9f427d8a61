import type { Database } from './database.ts'
import type { TabEvents } from './tab-events.ts'

/**
 * For a tab that did not hear the others for a while: says of each session that it may have changed, with the next
 * `seq` and no bytes, so that whoever has fewer updates reads them from disk.
 */
export async function announceMissed(database: Database, events: TabEvents): Promise<void> {
  events.missed({ kind: 'meta' })
  for (const { sessionId, incarnation } of await database.sessions()) {
    const firstSeq = (await database.lastSeq(sessionId)) + 1
    events.missed({ kind: 'updates', sessionId, incarnation, origin: 'local', firstSeq, bytes: [] })
    events.missed({ kind: 'session', sessionId })
  }
}
