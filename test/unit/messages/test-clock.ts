import type { Timers } from '../../../src/core/environment.ts'

export interface TestClock {
  readonly timers: Timers
  readonly now: () => number
  /** Runs what is due within `ms`, in order; timers that those set count too. */
  readonly advance: (ms: number) => void
  /** Runs what waits for the next frame. */
  readonly paint: () => void
  readonly frames: () => number
}

/** Time that passes when a test says so. A timer of 0 ms is due at once, in a turn of its own. */
export function createTestClock(): TestClock {
  let now = Date.UTC(2026, 0, 1)
  let ids = 0
  const waiting = new Map<number, { readonly at: number; readonly run: () => void }>()
  const frames = new Map<number, () => void>()

  return {
    timers: {
      setTimeout(run, ms) {
        const id = ++ids
        waiting.set(id, { at: now + ms, run })
        if (ms === 0) {
          setImmediate(() => {
            if (waiting.delete(id)) run()
          })
        }
        return id
      },
      clearTimeout: (id) => waiting.delete(id as number),
      frame(run) {
        const id = ++ids
        frames.set(id, run)
        return id
      },
      cancelFrame: (id) => frames.delete(id as number),
    },
    now: () => now,
    advance(ms) {
      const end = now + ms
      for (;;) {
        const due = [...waiting].filter(([, timer]) => timer.at <= end).sort((a, b) => a[1].at - b[1].at)[0]
        if (!due) break
        const [id, { at, run }] = due
        waiting.delete(id)
        now = Math.max(now, at)
        run()
      }
      now = end
    },
    paint() {
      const due = [...frames.values()]
      frames.clear()
      for (const run of due) run()
    },
    frames: () => frames.size,
  }
}
