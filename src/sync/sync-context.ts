import type { MetaRow } from '../core/device-session.ts'
import type { Environment } from '../core/environment.ts'
import type { Database } from '../storage/database.ts'
import type { DecidingTabs } from '../storage/deciding-tabs.ts'
import type { RunningClaims } from '../storage/running-claims.ts'
import type { LiveSessionIndex } from '../storage/session-index.ts'
import type { Connection } from './connection.ts'
import type { Documents } from './documents.ts'
import type { HttpClient } from './http-client.ts'

/** What the parts of sync share: one device, one account, one server. */
export interface SyncContext {
  readonly database: Database
  readonly documents: Documents
  readonly index: LiveSessionIndex
  readonly running: RunningClaims
  readonly decidingTabs: DecidingTabs
  readonly client: HttpClient
  readonly connection: Connection
  readonly environment: Environment
  readonly meta: () => MetaRow
  readonly updateMeta: (change: (meta: MetaRow) => MetaRow) => Promise<void>
  /** Server time, as well as this device knows it. */
  readonly now: () => number
  readonly signal: AbortSignal
  readonly onError: (error: unknown) => void
}
