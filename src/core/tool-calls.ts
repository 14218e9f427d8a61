import type { ToolCallStatus } from '../contract/chat-message.ts'

/** `absent`: the document has no such call. `unknown`: the host keeps its messages elsewhere, so nobody here can tell. */
export type SeenCall = ToolCallStatus | 'absent' | 'unknown'

/** What this device's documents say of tool calls. */
export interface ToolCalls {
  /**
   * Waits until the call is seen in a state that `until` accepts, at most `maxMs`, and resolves with the state that it
   * is in then. `unknown` ends the wait at once.
   */
  readonly see: (
    sessionId: string,
    toolCallId: string,
    until: (seen: SeenCall) => boolean,
    maxMs: number,
  ) => Promise<SeenCall>
}
