import type { Database } from './database.ts'
import type { TabEvents } from './tab-events.ts'

/**
 * For a tab that did not hear the others for a while: says of each session that it may have changed, and for each
 * origin the `seq` that comes next, without bytes. Whoever has fewer updates reads them from disk.
 */
export async function announceMissed(database: Database, events: TabEvents): Promise<void> {
  events.missed({ kind: 'meta' })
  for (const { sessionId, incarnation, acked } of await database.sessions()) {
    const hint = { kind: 'updates', sessionId, incarnation, bytes: [] } as const
    const unsent = await database.updates(sessionId, { afterSeq: acked, origin: 'local' })
    const lastLocal = unsent.at(-1)
    if (lastLocal) events.missed({ ...hint, origin: 'local', firstSeq: lastLocal.seq + 1 })
    events.missed({ ...hint, origin: 'server', firstSeq: (await database.lastSeq(sessionId)) + 1 })
    events.missed({ kind: 'session', sessionId })
  }
}
