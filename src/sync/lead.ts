import type { Environment } from '../core/environment.ts'
import { holdLock } from '../storage/hold-lock.ts'

const ASK_AGAIN_MS = 5000

/**
 * Runs `start` while this tab is the one that sends: it asks for the lock once and leads from its grant until it lets go.
 * A hidden page that goes into the back/forward cache lets go, and asks again when it comes back.
 */
export function lead(
  environment: Pick<Environment, 'locks' | 'lifecycle' | 'timers'>,
  lockName: string,
  options: {
    readonly start: () => () => void
    readonly signal: AbortSignal
    readonly onError: (error: unknown) => void
  },
): void {
  let leave: (() => void) | undefined
  let asking: AbortController | undefined
  let later: unknown
  const stops = [environment.lifecycle.on('pagehide', letGo), environment.lifecycle.on('pageshow', ask)]
  options.signal.addEventListener('abort', () => {
    for (const stop of stops) stop()
    letGo()
  })
  if (!options.signal.aborted) ask()

  function ask(): void {
    environment.timers.clearTimeout(later)
    if (asking || options.signal.aborted) return
    const attempt = new AbortController()
    asking = attempt
    holdLock(environment.locks, lockName, { signal: attempt.signal }).then(
      (release) => {
        if (!release) return
        if (attempt.signal.aborted) return release()
        const stop = options.start()
        leave = () => {
          stop()
          release()
        }
      },
      (error: unknown) => {
        if (attempt.signal.aborted) return
        asking = undefined
        options.onError(error)
        // Nobody else may be left to send for this device.
        later = environment.timers.setTimeout(ask, ASK_AGAIN_MS)
      },
    )
  }

  function letGo(): void {
    environment.timers.clearTimeout(later)
    asking?.abort()
    asking = undefined
    leave?.()
    leave = undefined
  }
}
