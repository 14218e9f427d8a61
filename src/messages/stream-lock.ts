import type { Locks } from '../core/environment.ts'

/**
 * Proves to other tabs that this one is writing a stream into a session: a tab that dies lets go of its lock. Where
 * there are no locks nothing is proved, and a stream that was closed by mistake opens again with its next token.
 */
export interface StreamLock {
  readonly hold: () => void
  readonly release: () => void
}

export function createStreamLock(locks: Locks, name: string): StreamLock {
  let held: AbortController | undefined

  return {
    hold() {
      if (held) return
      const holding = new AbortController()
      held = holding
      const { signal } = holding
      locks
        .request(
          name,
          { signal },
          () =>
            new Promise<void>((resolve) => {
              if (signal.aborted) resolve()
              else signal.addEventListener('abort', () => resolve())
            }),
        )
        .catch(() => {}) // released before it was granted, or no locks here
    },
    release() {
      held?.abort()
      held = undefined
    },
  }
}
