/**
 * What Rejoin needs of the world around it. Everything that is not a pure decision comes in through here: tests and
 * simulations hand in their own clock, network, locks and deaths.
 */
export interface Environment {
  /** Absent or broken: the session lives in memory, and the status says so. */
  readonly indexedDB: IDBFactory | undefined
  readonly locks: Locks
  readonly openChannel: (name: string) => Channel
  readonly fetch: typeof fetch
  readonly WebSocket: typeof WebSocket
  /** Epoch ms by this device's clock. */
  readonly now: () => number
  /** 0 inclusive to 1 exclusive, for jitter. */
  readonly random: () => number
  /** A fresh id that no other device makes; a SafeId. */
  readonly newId: () => string
  readonly timers: Timers
  readonly lifecycle: Lifecycle
}

/** The world as a platform gives it. Pages on plain http, and old browsers, have no locks. */
export interface Platform extends Omit<Environment, 'locks'> {
  /** Absent: the pages of an account ask each other who is at work, which takes up to 5 s. */
  readonly locks: Locks | undefined
}

/** Locks of one origin, as far as Rejoin uses the Web Locks API. */
export interface Locks {
  /**
   * Runs `hold` while the lock is held and resolves with its result. With `ifAvailable`, `hold` gets `false` at once
   * when somebody else holds it. An aborted `signal` ends the wait (rejects with its reason), not the hold.
   */
  request<T>(
    name: string,
    options: { readonly ifAvailable?: boolean; readonly signal?: AbortSignal },
    hold: (held: boolean) => T | Promise<T>,
  ): Promise<T>
  /** True while somebody in this origin holds the lock. */
  isHeld(name: string): Promise<boolean>
}

/** A BroadcastChannel: what one tab posts, every other tab of the name receives, never the poster itself. */
export interface Channel {
  post(message: unknown): void
  /** One listener; messages that come before it is set are lost. */
  listen(listener: (message: unknown) => void): void
  close(): void
}

/** Ids are opaque; ending `undefined`, or what has ended, does nothing. */
export interface Timers {
  setTimeout(run: () => void, ms: number): unknown
  clearTimeout(id: unknown): void
  /** Before the next paint where there is one, else soon. */
  frame(run: () => void): unknown
  cancelFrame(id: unknown): void
}

export interface Lifecycle {
  /** False when the platform knows that there is no network; true says nothing. */
  readonly online: () => boolean
  /** Returns the way to stop listening. */
  readonly on: (
    event: 'online' | 'offline' | 'visible' | 'hidden' | 'pagehide' | 'pageshow',
    run: () => void,
  ) => () => void
}
