export interface Listeners {
  readonly call: () => void
  /** Returns the way to stop. */
  readonly add: (listener: () => void) => () => void
}

/**
 * A list of listeners that cannot hurt each other or their caller: what one throws is reported as uncaught, as the
 * platform does for event listeners.
 */
export function createListeners(): Listeners {
  const all = new Set<() => void>()
  return {
    call() {
      for (const listener of [...all]) {
        try {
          listener()
        } catch (error) {
          queueMicrotask(() => {
            throw error
          })
        }
      }
    },
    add(listener) {
      // Its own identity, so that one function may be added twice.
      const own = () => listener()
      all.add(own)
      return () => {
        all.delete(own)
      }
    },
  }
}
