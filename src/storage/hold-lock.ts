import type { Locks } from '../core/environment.ts'

/**
 * Takes a lock and keeps it until the returned function is called or the tab dies: that is what proves to other tabs
 * that somebody is at work. `undefined`: with `ifAvailable`, somebody else holds it.
 */
export function holdLock(
  locks: Locks,
  name: string,
  options: { readonly ifAvailable?: boolean; readonly signal?: AbortSignal } = {},
): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    locks
      .request(name, options, (held) => {
        if (!held) return resolve(undefined)
        return new Promise<void>((release) => resolve(release))
      })
      .catch(reject)
  })
}
