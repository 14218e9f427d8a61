import type { Environment } from '../core/environment.ts'
import { holdLock } from '../storage/hold-lock.ts'

/**
 * Runs `start` while this tab is the one that sends: it asks for the lock once and leads from its grant until it lets go.
 * A hidden page that goes into the back/forward cache lets go, and asks again when it comes back.
 */
export function lead(
  environment: Pick<Environment, 'locks' | 'lifecycle'>,
  lockName: string,
  options: {
    readonly start: () => () => void
    readonly signal: AbortSignal
    readonly onError: (error: unknown) => void
  },
): void {
  let leave: (() => void) | undefined
  let asking: AbortController | undefined
  const stops = [environment.lifecycle.on('pagehide', letGo), environment.lifecycle.on('pageshow', ask)]
  options.signal.addEventListener('abort', () => {
    for (const stop of stops) stop()
    letGo()
  })
  if (!options.signal.aborted) ask()

  function ask(): void {
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
      },
    )
  }

  function letGo(): void {
    asking?.abort()
    asking = undefined
    leave?.()
    leave = undefined
  }
}
