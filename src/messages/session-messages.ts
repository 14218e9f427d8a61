import type { Message, ToolCall } from '../contract/chat-message.ts'

/** The messages of one session, as this device has them: `rejoin.messages(sessionId)`. */
export interface SessionMessages {
  /** The same array until something changed; `[]` until the first `whenLoaded()`. */
  readonly get: () => readonly Message[]
  /** Called at most once per frame. Returns the way to stop. */
  readonly subscribe: (listener: () => void) => () => void
  /** The document is read from disk and, where a first load from the server applies, from there. */
  readonly whenLoaded: () => Promise<void>
  /** Resolves when everything that `get()` shows is committed on this device; rejects with what went wrong. */
  readonly whenStored: () => Promise<void>
  /** The tool call as the document has it now. */
  readonly toolCall: (toolCallId: string) => ToolCall | undefined
  /** What went wrong with the last write, if it did: upstream may swallow a rejected save. */
  readonly problem: () => Error | undefined
}
