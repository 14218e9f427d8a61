import type { AdapterFactory, AdapterRequest, StreamChunk } from '@agentskit/core'

export interface ManualSource {
  readonly request: AdapterRequest
  aborts: number
  /** Resolves when the controller has taken the chunk and asks for the next. */
  readonly push: (chunk: StreamChunk) => Promise<void>
  readonly text: (content: string) => Promise<void>
  readonly toolCall: (id: string, name: string, args?: Record<string, unknown>) => Promise<void>
  readonly end: () => Promise<void>
}

/** An adapter whose answers the test writes, chunk by chunk; nothing in it waits for a clock. */
export function createManualAdapter(): AdapterFactory & { readonly sources: ManualSource[] } {
  const sources: ManualSource[] = []
  return {
    sources,
    createSource: (request) => {
      const queue: StreamChunk[] = []
      let ended = false
      let wake = () => {}
      let idle = () => {}
      const source: ManualSource = {
        request,
        aborts: 0,
        push: (chunk) => {
          queue.push(chunk)
          return feed()
        },
        text: (content) => source.push({ type: 'text', content }),
        toolCall: (id, name, args = {}) =>
          source.push({ type: 'tool_call', toolCall: { id, name, args: JSON.stringify(args) } }),
        end: () => {
          ended = true
          return feed()
        },
      }
      function feed(): Promise<void> {
        const taken = new Promise<void>((resolve) => {
          idle = resolve
        })
        wake()
        return taken
      }
      async function* stream(): AsyncGenerator<StreamChunk, void, undefined> {
        try {
          for (;;) {
            for (let chunk = queue.shift(); chunk; chunk = queue.shift()) yield chunk
            if (ended) return
            const woken = new Promise<void>((resolve) => {
              wake = resolve
            })
            idle()
            await woken
          }
        } finally {
          // The consumer's own code runs right after this; a macrotask later it is done with the stream.
          setTimeout(() => idle())
        }
      }
      sources.push(source)
      return {
        stream,
        abort: () => {
          source.aborts += 1
        },
      }
    },
  }
}

/** Lets everything that is already resolved run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve))
}
