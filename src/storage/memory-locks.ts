import type { Locks } from '../core/environment.ts'

/** Web Locks in memory, first come first served: for a page that has none, and for tabs that are simulated. */
export function createMemoryLocks(): Locks {
  /** A name is in here while its lock is held, with those who wait for it. */
  const waiting = new Map<string, (() => void)[]>()

  function acquire(name: string, signal: AbortSignal | undefined): Promise<void> {
    const queue = waiting.get(name)
    if (!queue) {
      waiting.set(name, [])
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const stop = () => {
        queue.splice(queue.indexOf(granted), 1)
        reject(signal?.reason)
      }
      const granted = () => {
        signal?.removeEventListener('abort', stop)
        resolve()
      }
      signal?.addEventListener('abort', stop, { once: true })
      queue.push(granted)
    })
  }

  function release(name: string): void {
    const next = waiting.get(name)?.shift()
    if (next) next()
    else waiting.delete(name)
  }

  return {
    async request(name, { ifAvailable = false, signal }, hold) {
      signal?.throwIfAborted()
      if (ifAvailable && waiting.has(name)) return hold(false)
      await acquire(name, signal)
      try {
        return await hold(true)
      } finally {
        release(name)
      }
    },
    isHeld: async (name) => waiting.has(name),
  }
}
