import type { Environment, Lifecycle } from '../../../src/core/environment.ts'
import { createMemoryChannels } from '../../../src/storage/memory-channel.ts'
import { createMemoryLocks } from '../../../src/storage/memory-locks.ts'

type LifecycleEvent = Parameters<Lifecycle['on']>[0]

export interface TestTimers {
  readonly setTimeout: (run: () => void, ms: number) => unknown
  readonly clearTimeout: (id: unknown) => void
  /** Resolves when a timer of exactly `ms` is waiting. */
  readonly waitingFor: (ms: number) => Promise<void>
  /** Lets all waiting timers of `ms` end. */
  readonly end: (ms: number) => void
  readonly waiting: () => readonly number[]
}

/** Waits below `instantBelowMs` end at once, longer ones when the test says so. */
export function createTestTimers(instantBelowMs: number): TestTimers {
  const waiting = new Map<number, { readonly run: () => void; readonly ms: number }>()
  const watchers = new Set<() => void>()
  let ids = 0
  return {
    setTimeout(run, ms) {
      const id = ++ids
      if (ms < instantBelowMs) return { id, real: setTimeout(run, 0) }
      waiting.set(id, { run, ms })
      for (const watcher of [...watchers]) watcher()
      return { id }
    },
    clearTimeout(handle) {
      if (handle === undefined) return
      const { id, real } = handle as { id: number; real?: ReturnType<typeof setTimeout> }
      waiting.delete(id)
      clearTimeout(real)
    },
    waitingFor: (ms) =>
      new Promise((resolve) => {
        const look = () => {
          if (![...waiting.values()].some((timer) => timer.ms === ms)) return
          watchers.delete(look)
          resolve()
        }
        watchers.add(look)
        look()
      }),
    end(ms) {
      for (const [id, timer] of waiting) {
        if (timer.ms !== ms) continue
        waiting.delete(id)
        timer.run()
      }
    },
    waiting: () => [...waiting.values()].map(({ ms }) => ms),
  }
}

export interface TestEnvironment extends Environment {
  readonly clock: TestTimers
  readonly happen: (event: LifecycleEvent) => void
  readonly listeners: () => number
}

export interface TestEnvironmentOptions {
  readonly indexedDB: IDBFactory | undefined
  readonly openChannel?: Environment['openChannel']
  readonly instantBelowMs?: number
}

/** One tab. Tabs that share `openChannel` hear each other. */
export function testEnvironment({
  indexedDB,
  openChannel = createMemoryChannels(),
  instantBelowMs = 1000,
}: TestEnvironmentOptions): TestEnvironment {
  const clock = createTestTimers(instantBelowMs)
  const listeners = new Set<{ readonly event: LifecycleEvent; readonly run: () => void }>()
  let ids = 0
  return {
    indexedDB,
    locks: createMemoryLocks(),
    openChannel,
    fetch: () => Promise.reject(new Error('There is no network here.')),
    WebSocket: undefined as unknown as typeof WebSocket,
    now: () => 0,
    random: () => 0,
    newId: () => `device-${++ids}-${Math.random().toString(36).slice(2)}`,
    timers: { ...clock, frame: (run) => clock.setTimeout(run, 0), cancelFrame: clock.clearTimeout },
    lifecycle: {
      online: () => true,
      on(event, run) {
        const listener = { event, run }
        listeners.add(listener)
        return () => {
          listeners.delete(listener)
        }
      },
    },
    clock,
    happen(event) {
      for (const listener of [...listeners]) if (listener.event === event) listener.run()
    },
    listeners: () => listeners.size,
  }
}
