import type { Environment } from '../core/environment.ts'
import type { RejoinError } from '../errors.ts'
import type { Names } from './names.ts'
import type { CorruptRow } from './quarantine.ts'

/** What a device calls itself when its database is made. */
export interface DeviceIdentity {
  readonly account: string
  readonly realm: string
  /** For people: how this device is named on the others. */
  readonly label: string
}

export interface DatabaseOptions {
  readonly environment: Omit<Environment, 'locks'>
  readonly names: Names
  readonly identity: DeviceIdentity
  /** Closes the database. */
  readonly signal?: AbortSignal | undefined
  /** The first failure of an outage, and `undefined` when storage works again. */
  readonly onProblem?: ((problem: RejoinError | undefined) => void) | undefined
  /** Each row that cannot be read, once. It stays on disk, counts as absent, and its session refuses writes. */
  readonly onCorrupt?: ((row: CorruptRow) => void) | undefined
}
