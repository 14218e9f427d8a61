import type { Timers } from '../core/environment.ts'

/** The work's outcome; rejects with `late()` after `ms`, or with the signal's reason. The work itself goes on. */
export function withinTime<T>(
  work: Promise<T>,
  ms: number,
  late: () => Error,
  { timers, signal }: { readonly timers: Timers; readonly signal?: AbortSignal | undefined },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = timers.setTimeout(() => settle(() => reject(late())), ms)
    const abort = () => settle(() => reject(signal?.reason))
    signal?.addEventListener('abort', abort)
    const settle = (outcome: () => void) => {
      timers.clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      outcome()
    }
    work.then(
      (value) => settle(() => resolve(value)),
      (error) => settle(() => reject(error)),
    )
  })
}
