/** A value that can be watched; `useSyncExternalStore` takes it as it is. */
export interface Observable<T> {
  /** The same reference until it changed. */
  readonly get: () => T
  /** Returns the way to stop. */
  readonly subscribe: (listener: () => void) => () => void
}

export interface ObservableValue<T> extends Observable<T> {
  readonly set: (value: T) => void
}

export function createObservableValue<T>(initial: T): ObservableValue<T> {
  let value = initial
  const listeners = new Set<() => void>()
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return
      value = next
      for (const listener of [...listeners]) listener()
    },
    subscribe(listener) {
      // Its own identity, so that one function may be subscribed twice.
      const own = () => listener()
      listeners.add(own)
      return () => listeners.delete(own)
    },
  }
}
