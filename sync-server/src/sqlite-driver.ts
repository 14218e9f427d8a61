import { RejoinError } from '../../src/errors.ts'

export type SqlValue = string | number | null | Uint8Array
export type SqlRow = Readonly<Record<string, SqlValue>>

export interface SqlStatement {
  readonly run: (...values: readonly SqlValue[]) => void
  readonly get: (...values: readonly SqlValue[]) => SqlRow | undefined
  readonly all: (...values: readonly SqlValue[]) => readonly SqlRow[]
}

/** One connection to one SQLite file. Everything is synchronous; errors of SQLite are thrown as they come. */
export interface SqliteDriver {
  readonly name: 'node:sqlite' | 'better-sqlite3'
  readonly exec: (sql: string) => void
  readonly prepare: (sql: string) => SqlStatement
  readonly close: () => void
}

type OpenDriver = (file: string) => SqliteDriver

/**
 * SQLite as this runtime has it: `node:sqlite` of Node 22.13 and later, else the optional package better-sqlite3.
 * Rejects with `storage-unavailable` when there is neither.
 */
export async function openSqliteDriver(file: string, prefer?: SqliteDriver['name']): Promise<SqliteDriver> {
  const open =
    prefer === 'better-sqlite3'
      ? await betterSqlite()
      : prefer === 'node:sqlite'
        ? await nodeSqlite()
        : ((await nodeSqlite()) ?? (await betterSqlite()))
  if (!open) {
    throw new RejoinError('storage-unavailable', 'This Node.js has no SQLite.', {
      hint: 'Use Node.js 22.13 or later, or install better-sqlite3 beside rejoin-server.',
    })
  }
  try {
    return open(file)
  } catch (cause) {
    throw new RejoinError('storage-unavailable', `The database ${file} cannot be opened.`, {
      hint: 'Check the path and its permissions.',
      cause,
    })
  }
}

async function nodeSqlite(): Promise<OpenDriver | undefined> {
  const { default: sqlite } = await importIfThere<{
    default?: { DatabaseSync: new (file: string) => NativeDatabase }
  }>('node:sqlite')
  if (!sqlite?.DatabaseSync) return undefined
  return (file) => wrap('node:sqlite', new sqlite.DatabaseSync(file))
}

async function betterSqlite(): Promise<OpenDriver | undefined> {
  const { default: Database } = await importIfThere<{ default?: new (file: string) => NativeDatabase }>(
    'better-sqlite3',
  )
  if (!Database) return undefined
  return (file) => wrap('better-sqlite3', new Database(file))
}

/** What both drivers have in common. */
interface NativeDatabase {
  exec(sql: string): unknown
  prepare(sql: string): NativeStatement
  close(): unknown
}

interface NativeStatement {
  run(...values: readonly SqlValue[]): unknown
  get(...values: readonly SqlValue[]): unknown
  all(...values: readonly SqlValue[]): unknown
}

function wrap(name: SqliteDriver['name'], database: NativeDatabase): SqliteDriver {
  return {
    name,
    exec: (sql) => {
      database.exec(sql)
    },
    prepare: (sql) => {
      const statement = database.prepare(sql)
      return {
        run: (...values) => {
          statement.run(...values)
        },
        get: (...values) => statement.get(...values) as SqlRow | undefined,
        all: (...values) => statement.all(...values) as SqlRow[],
      }
    },
    close: () => {
      database.close()
    },
  }
}

/** The name is not a literal, so that a bundler leaves the import to the runtime. */
async function importIfThere<T extends object>(specifier: string): Promise<Partial<T>> {
  try {
    return (await import(/* @vite-ignore */ specifier)) as T
  } catch {
    return {}
  }
}
