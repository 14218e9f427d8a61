import type { Locks } from '../core/environment.ts'

/** The browser's Web Locks: shared by all tabs and workers of the origin, and freed when their holder dies. */
export function createWebLocks(manager: LockManager): Locks {
  return {
    async request(name, { ifAvailable = false, signal }, hold) {
      signal?.throwIfAborted()
      // The platform refuses the two together; what does not wait needs no signal to stop waiting.
      const options = ifAvailable ? { ifAvailable } : signal ? { signal } : {}
      return await manager.request(name, options, async (lock) => hold(lock !== null))
    },
    async isHeld(name) {
      const { held = [] } = await manager.query()
      return held.some((lock) => lock.name === name)
    },
  }
}
