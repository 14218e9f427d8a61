import type { Channel, Locks, Timers } from '../core/environment.ts'
import { createMemoryLocks } from './memory-locks.ts'
import { objectOf, oneOf, text } from './shape.ts'

/** No answer within this time: as far as anybody can tell, nobody is at work on it. */
export const ANSWER_WITHIN_MS = 5000

export interface ChannelLocksOptions {
  /** Of all pages of this account and realm, for this alone. */
  readonly channel: Channel
  readonly newId: () => string
  readonly timers: Timers
  readonly signal: AbortSignal
}

const question = objectOf({ kind: oneOf('held?'), ask: text, name: text })
const answer = objectOf({ kind: oneOf('held'), ask: text })

/**
 * Liveness where the platform has no Web Locks (plain http, old browsers). Each page grants its own locks, and asks the
 * others over the channel whether one of them holds it; a page that is dead, or frozen, says nothing for 5 s. So two
 * pages may hold one lock at a time: whoever leads, or starts a claim, is decided on disk and not here. What the answer
 * protects is a run, or a stream, that goes on in another page: it is not taken for one that broke off.
 *
 * `isHeld`, and `request` with `ifAvailable`, take up to 5 s. When `signal` aborts, everything counts as held: whoever
 * asked then does nothing about it.
 */
export function createChannelLocks({ channel, newId, timers, signal }: ChannelLocksOptions): Locks {
  const own = createMemoryLocks()
  const asked = new Map<string, (held: boolean) => void>()

  channel.listen((message) => {
    if (question(message)) void reply(message as { readonly ask: string; readonly name: string })
    else if (answer(message)) asked.get((message as { readonly ask: string }).ask)?.(true)
  })
  if (signal.aborted) close()
  signal.addEventListener('abort', close)

  return {
    async request(name, options, hold) {
      options.signal?.throwIfAborted()
      if (options.ifAvailable && (await isHeld(name))) return hold(false)
      return own.request(name, options, hold)
    },
    isHeld,
  }

  function close(): void {
    channel.close()
    for (const end of [...asked.values()]) end(true)
  }

  async function isHeld(name: string): Promise<boolean> {
    return (await own.isHeld(name)) || signal.aborted || askOthers(name)
  }

  function askOthers(name: string): Promise<boolean> {
    return new Promise((resolve) => {
      const ask = newId()
      const timer = timers.setTimeout(() => end(false), ANSWER_WITHIN_MS)
      asked.set(ask, end)
      channel.post({ kind: 'held?', ask, name })

      function end(held: boolean): void {
        timers.clearTimeout(timer)
        asked.delete(ask)
        resolve(held)
      }
    })
  }

  async function reply({ ask, name }: { readonly ask: string; readonly name: string }): Promise<void> {
    if ((await own.isHeld(name)) && !signal.aborted) channel.post({ kind: 'held', ask })
  }
}
