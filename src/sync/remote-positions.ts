import type { SessionRow } from '../core/device-session.ts'
import { createObservableValue, type Observable } from '../core/observable-value.ts'
import type { ETag } from '../protocol/identity.ts'

/** Where the server's session stands. */
export interface RemotePosition {
  readonly etag: ETag | null
  /** Of its updates. */
  readonly head: number
}

/** What the server said of its sessions and this device has not looked at yet. */
export interface RemotePositions {
  readonly get: (sessionId: string) => RemotePosition | undefined
  readonly set: (sessionId: string, position: RemotePosition) => void
  readonly delete: (sessionId: string) => void
  readonly isEmpty: () => boolean
  readonly isCaughtUp: () => boolean
  /** The feed was read to its end. */
  readonly catchUp: () => void
  /** Nobody hears of changes for a while: the feed is to be read again before anything is known to be level. */
  readonly lose: () => void
  /** True while the server has, or may have, what this device did not fetch (G9). */
  readonly behind: Observable<boolean>
}

export function createRemotePositions(): RemotePositions {
  const positions = new Map<string, RemotePosition>()
  const behind = createObservableValue(true)
  let caughtUp = false

  function change(make: () => void): void {
    make()
    behind.set(!caughtUp || positions.size > 0)
  }

  return {
    get: (sessionId) => positions.get(sessionId),
    set: (sessionId, position) => change(() => positions.set(sessionId, position)),
    delete: (sessionId) => change(() => positions.delete(sessionId)),
    isEmpty: () => positions.size === 0,
    isCaughtUp: () => caughtUp,
    catchUp: () =>
      change(() => {
        caughtUp = true
      }),
    lose: () =>
      change(() => {
        caughtUp = false
      }),
    behind,
  }
}

/** True if the device stands where the server's session stands. */
export function isLevel(row: SessionRow, remote: RemotePosition): boolean {
  return row.pulled >= remote.head && (remote.etag ?? undefined) === row.base?.etag
}
