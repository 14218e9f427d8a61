import type { Decision } from '../contract/session-snapshot.ts'
import type { Lifecycle, Locks } from '../core/environment.ts'
import { holdLock } from './hold-lock.ts'

/** Which decisions are those of a tab that lives, and may store their messages yet, rule R8. */
export interface DecidingTabs {
  /** This tab read these decisions: whoever took them, it did not. */
  readonly read: (sessionId: string, decisions: readonly Decision[]) => void
  /** This tab saves these decisions. Those among them that it never read are its own. */
  readonly enter: (sessionId: string, decisions: readonly Decision[]) => void
  /** The session is stored with these decisions: what else this tab took is over, pruned or replaced. */
  readonly stored: (sessionId: string, decisions: readonly Decision[]) => void
  /** True while a tab of this device lives that took the decision on the message. */
  readonly isAlive: (sessionId: string, messageId: string) => Promise<boolean>
}

export interface DecidingTabsOptions {
  readonly locks: Locks
  readonly lockName: (purpose: string) => string
  readonly lifecycle: Lifecycle
  readonly signal: AbortSignal
}

/**
 * For each of its decisions a tab holds a lock, or waits for it: the lock is free when all who saved the decision as
 * theirs are dead. A page that goes into the back/forward cache lets go, since locks would keep it out of there, and asks
 * again when it comes back.
 */
export function createDecidingTabs({ locks, lockName, lifecycle, signal }: DecidingTabsOptions): DecidingTabs {
  const others = new Set<string>()
  const own = new Map<string, AbortController | undefined>()
  const stops = [lifecycle.on('pagehide', leave), lifecycle.on('pageshow', comeBack)]
  signal.addEventListener('abort', () => {
    for (const stop of stops) stop()
    leave()
  })
  // No id has a slash in it.
  const nameOf = (sessionId: string, messageId: string) => lockName(`decision:${sessionId}/${messageId}`)
  return {
    read(sessionId, decisions) {
      for (const { messageId } of decisions) others.add(nameOf(sessionId, messageId))
    },
    enter(sessionId, decisions) {
      for (const { messageId } of decisions) {
        const name = nameOf(sessionId, messageId)
        if (!others.has(name)) hold(name)
      }
    },
    stored(sessionId, decisions) {
      const kept = new Set(decisions.map(({ messageId }) => nameOf(sessionId, messageId)))
      for (const name of own.keys()) {
        if (name.startsWith(nameOf(sessionId, '')) && !kept.has(name)) letGo(name)
      }
    },
    isAlive: (sessionId, messageId) => locks.isHeld(nameOf(sessionId, messageId)),
  }

  function hold(name: string): void {
    if (own.get(name) || signal.aborted) return
    const leaving = new AbortController()
    own.set(name, leaving)
    holdLock(locks, name, { signal: leaving.signal }).then(
      (release) => {
        if (leaving.signal.aborted) release?.()
        else leaving.signal.addEventListener('abort', () => release?.(), { once: true })
      },
      () => {}, // it left before it was its turn
    )
  }

  function letGo(name: string): void {
    own.get(name)?.abort()
    own.delete(name)
  }

  function leave(): void {
    for (const [name, leaving] of own) {
      leaving?.abort()
      own.set(name, undefined)
    }
  }

  function comeBack(): void {
    for (const name of own.keys()) hold(name)
  }
}
