import type { Lifecycle, Locks } from '../core/environment.ts'
import { holdLock } from './hold-lock.ts'

/** Which sessions have decisions of a tab that lives and may store their messages yet, rule R8. */
export interface DecidingTabs {
  /** This tab saves decisions of the session. */
  readonly enter: (sessionId: string) => void
  /** True while any tab of this device that saved decisions of the session lives. */
  readonly isAnyAlive: (sessionId: string) => Promise<boolean>
}

export interface DecidingTabsOptions {
  readonly locks: Locks
  readonly lockName: (sessionId: string) => string
  readonly lifecycle: Lifecycle
  readonly signal: AbortSignal
}

/**
 * Each tab holds the session's lock, or waits for it: it is free when all of them are dead. A page that goes into the
 * back/forward cache lets go, since a lock would keep it out of there, and asks again when it comes back.
 */
export function createDecidingTabs({ locks, lockName, lifecycle, signal }: DecidingTabsOptions): DecidingTabs {
  const entered = new Map<string, AbortController | undefined>()
  const stops = [lifecycle.on('pagehide', leave), lifecycle.on('pageshow', comeBack)]
  signal.addEventListener('abort', () => {
    for (const stop of stops) stop()
    leave()
  })
  return {
    enter,
    isAnyAlive: (sessionId) => locks.isHeld(lockName(sessionId)),
  }

  function enter(sessionId: string): void {
    if (entered.get(sessionId) || signal.aborted) return
    const leaving = new AbortController()
    entered.set(sessionId, leaving)
    holdLock(locks, lockName(sessionId), { signal: leaving.signal }).then(
      (release) => {
        if (leaving.signal.aborted) release?.()
        else leaving.signal.addEventListener('abort', () => release?.(), { once: true })
      },
      () => {}, // it left before it was its turn
    )
  }

  function leave(): void {
    for (const [sessionId, leaving] of entered) {
      leaving?.abort()
      entered.set(sessionId, undefined)
    }
  }

  function comeBack(): void {
    for (const sessionId of entered.keys()) enter(sessionId)
  }
}
