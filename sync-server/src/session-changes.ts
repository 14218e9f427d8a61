import type { ETag, Incarnation } from '../../src/protocol/identity.ts'

/** A session moved: committed, and told before anybody hears of a later commit of the same session. */
export interface SessionMoved {
  readonly account: string
  readonly sessionId: string
  readonly incarnation: Incarnation
  readonly head: number
  readonly etag: ETag | null
  /** What the log got, in order. */
  readonly updates: readonly Uint8Array[]
  /** Who sent them, and needs no echo. */
  readonly from?: object | undefined
  readonly deleted: boolean
}

/** Carries what was committed to whoever relays it, in this process. */
export interface SessionChanges {
  readonly publish: (moved: SessionMoved) => void
  /** Returns the way to stop. */
  readonly subscribe: (listener: (moved: SessionMoved) => void) => () => void
}

export function createSessionChanges(): SessionChanges {
  const listeners = new Set<(moved: SessionMoved) => void>()
  return {
    publish: (moved) => {
      for (const listener of listeners) listener(moved)
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
