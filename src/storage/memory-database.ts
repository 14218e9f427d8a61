import { closeOnAbort } from './close-on-abort.ts'
import { createDatabase } from './create-database.ts'
import type { Database } from './database.ts'
import type { DatabaseOptions } from './database-options.ts'
import { createMemoryDisk, type MemoryDisk } from './memory-disk.ts'
import { createMemoryEngine } from './memory-engine.ts'
import { createQuarantine } from './quarantine.ts'
import { createTabEvents } from './tab-events.ts'

export interface MemoryDatabaseOptions extends DatabaseOptions {
  /**
   * The disk of a simulated device: it is `persistent`, and the tabs that open it hear of each other's commits.
   * Without one, everything ends with this tab and no other tab hears of it.
   */
  readonly disk?: MemoryDisk
}

/** A database in memory, for a browser that gives no other and for simulations. Rejects with `closed` if aborted. */
export async function openMemoryDatabase(options: MemoryDatabaseOptions): Promise<Database> {
  const { environment, names, identity, signal, onCorrupt, disk } = options
  const openChannel = disk && (() => environment.openChannel(names.channel('rows')))
  const database = createDatabase({
    engine: createMemoryEngine(disk ?? createMemoryDisk(), disk !== undefined),
    quarantine: createQuarantine(onCorrupt),
    events: createTabEvents(openChannel),
    identity,
    newId: environment.newId,
  })
  return closeOnAbort(database, signal)
}
