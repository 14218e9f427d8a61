import type { AdapterFactory } from '@agentskit/core'

/** A model that says what it is fed. While nobody feeds it, it answers at once, in three tokens. */
export interface FedModel {
  readonly adapter: AdapterFactory
  /** The next answer is fed by hand. Resolves when the model was asked for it. */
  readonly expectFeeding: () => Promise<void>
  readonly feed: (token: string) => void
  readonly end: () => void
}

export function createFedModel(): FedModel {
  let expected: (() => void) | undefined
  let answer: WritableStreamDefaultWriter<string> | undefined

  const adapter: AdapterFactory = {
    createSource: ({ messages }) => {
      const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
      const stopped = new AbortController()
      const tokens = expected ? fed(stopped.signal) : ['You ', 'said: ', asked]
      expected?.()
      expected = undefined
      return {
        stream: async function* () {
          for await (const content of tokens) yield { type: 'text', content }
          if (!stopped.signal.aborted) yield { type: 'done' }
        },
        abort: () => stopped.abort(),
      }
    },
  }

  function fed(signal: AbortSignal): ReadableStream<string> {
    const { readable, writable } = new TransformStream<string, string>(undefined, { highWaterMark: 1000 })
    const writer = writable.getWriter()
    answer = writer
    // Aborted or closed: whichever is second has nothing to end.
    signal.addEventListener('abort', () => writer.close().catch(() => {}))
    return readable
  }

  return {
    adapter,
    expectFeeding: () =>
      new Promise((resolve) => {
        expected = resolve
      }),
    feed: (token) => void answer?.write(token),
    end: () => void answer?.close(),
  }
}
