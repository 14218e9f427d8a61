export {
  createServer,
  type RejoinServer,
  type RunningServer,
  type ServerOptions,
  startServer,
} from './create-server.ts'
export { type Restored, type RestoreOptions, restoreSqlite } from './restore-sqlite.ts'
export type { DecisionScope, FeedPage, LogPage, Store, StoredState } from './store.ts'
export { openSqliteStore, type SqliteStoreOptions } from './store-sqlite.ts'
