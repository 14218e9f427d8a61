/** Waits that grow, each drawn from the whole range (full jitter), so that clients do not come back in step. */
export interface BackOff {
  readonly nextMs: () => number
  readonly reset: () => void
}

export function createBackOff(
  random: () => number,
  { firstMs = 500, longestMs = 60_000 }: { readonly firstMs?: number; readonly longestMs?: number } = {},
): BackOff {
  let failures = 0
  return {
    nextMs() {
      const ceiling = Math.min(longestMs, firstMs * 2 ** Math.min(failures, 20))
      failures++
      return Math.ceil(random() * ceiling)
    },
    reset() {
      failures = 0
    },
  }
}
