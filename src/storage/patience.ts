import type { Timers } from '../core/environment.ts'
import type { RejoinError } from '../errors.ts'

/** How long others go on waiting for something that cannot be hurried. */
export interface Patience {
  /** Rejects with the reason when it has ended, also for those who come later. */
  readonly ended: Promise<never>
  /** Ends it in `ms` unless this is called again. */
  readonly endIn: (ms: number, reason: () => RejoinError) => void
  readonly end: (reason: RejoinError) => void
  /** It came. */
  readonly stop: () => void
}

export function createPatience(timers: Timers, onEnd: (reason: RejoinError) => void): Patience {
  let reject: (reason: RejoinError) => void = () => {}
  const ended = new Promise<never>((_, rejectIt) => {
    reject = rejectIt
  })
  ended.catch(() => {}) // whoever waits hears of it
  let timer: unknown
  const stop = () => timers.clearTimeout(timer)
  return {
    ended,
    endIn(ms, reason) {
      stop()
      timer = timers.setTimeout(() => {
        const why = reason()
        reject(why)
        onEnd(why)
      }, ms)
    },
    end(reason) {
      stop()
      reject(reason)
    },
    stop,
  }
}
