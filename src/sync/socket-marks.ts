import type { Timers } from '../core/environment.ts'

/** An unanswered mark by then means that the socket is dead, whatever it says of itself. */
const MARK_TIMEOUT_MS = 10_000

/** Questions to a room: is everything durable that was sent before? */
export interface SocketMarks {
  /** False: no answer in time, or the socket is gone. */
  readonly ask: () => Promise<boolean>
  readonly answered: (n: number) => void
  /** The socket is gone: nobody answers any more. */
  readonly end: () => void
}

export interface SocketMarksOptions {
  readonly timers: Timers
  /** False: it cannot be sent. */
  readonly send: (n: number) => boolean
  /** A mark was not answered in time. */
  readonly onSilent: () => void
}

export function createSocketMarks({ timers, send, onSilent }: SocketMarksOptions): SocketMarks {
  const waiting = new Map<number, (marked: boolean) => void>()
  let last = 0

  function ask(): Promise<boolean> {
    const n = ++last
    return new Promise((resolve) => {
      const bound = timers.setTimeout(() => {
        finish(false)
        onSilent()
      }, MARK_TIMEOUT_MS)
      const finish = (marked: boolean) => {
        timers.clearTimeout(bound)
        waiting.delete(n)
        resolve(marked)
      }
      waiting.set(n, finish)
      if (!send(n)) finish(false)
    })
  }

  return {
    ask,
    answered: (n) => waiting.get(n)?.(true),
    end: () => {
      for (const finish of [...waiting.values()]) finish(false)
    },
  }
}
