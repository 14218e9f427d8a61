const FIRST_MS = 500
const LONGEST_MS = 60_000

/** Waits that grow, each drawn from the whole range (full jitter), so that clients do not come back in step. */
export interface BackOff {
  readonly nextMs: () => number
  readonly reset: () => void
}

export function createBackOff(random: () => number): BackOff {
  let failures = 0
  return {
    nextMs() {
      const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 20))
      failures++
      return Math.ceil(random() * ceiling)
    },
    reset() {
      failures = 0
    },
  }
}
