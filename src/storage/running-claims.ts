import type { Locks } from '../core/environment.ts'
import { holdLock } from './hold-lock.ts'

/** The claims that this tab is at work on, each with its lock: `sent` by a save that waits, or running. */
export interface RunningClaims {
  /** False: another tab is at work on it. */
  readonly take: (claimId: string, options?: { readonly ifAvailable?: boolean }) => Promise<boolean>
  readonly has: (claimId: string) => boolean
  readonly drop: (claimId: string) => void
  /** True while any tab of this device is at work on it. */
  readonly isHeld: (claimId: string) => Promise<boolean>
  readonly close: () => void
}

export function createRunningClaims(locks: Locks, lockName: (claimId: string) => string): RunningClaims {
  const held = new Map<string, () => void>()
  return {
    async take(claimId, options) {
      if (held.has(claimId)) return true
      const release = await holdLock(locks, lockName(claimId), options)
      if (!release) return false
      held.set(claimId, release)
      return true
    },
    has: (claimId) => held.has(claimId),
    drop(claimId) {
      held.get(claimId)?.()
      held.delete(claimId)
    },
    isHeld: async (claimId) => held.has(claimId) || (await locks.isHeld(lockName(claimId))),
    close() {
      for (const release of held.values()) release()
      held.clear()
    },
  }
}
