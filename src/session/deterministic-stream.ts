import type { StreamChunk, StreamSource } from '../contract/chat.ts'

/** An answer that is known at once: one `text` chunk, then `done`. Aborted before it starts, it says nothing. */
export function answerStream(content: string): StreamSource {
  let aborted = false
  return {
    async *stream(): AsyncGenerator<StreamChunk> {
      if (aborted) return
      yield { type: 'text', content }
      if (!aborted) yield { type: 'done' }
    },
    abort() {
      aborted = true
    },
  }
}

/** What a broken route answers. It does not say what broke: the text of an error may hold what somebody wrote. */
export function failedRouteStream(): StreamSource {
  return {
    async *stream(): AsyncGenerator<StreamChunk> {
      yield { type: 'error', content: 'Deterministic route failed.' }
    },
    abort() {},
  }
}
