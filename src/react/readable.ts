/** Anything that Rejoin shows: the same value until a listener was called. */
export interface Readable<T> {
  readonly get: () => T
  readonly subscribe: (listener: () => void) => () => void
}
