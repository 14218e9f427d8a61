import type { Timers } from '../core/environment.ts'
import type { SeenCall, ToolCalls } from '../core/tool-calls.ts'
import type { SessionMessages } from './session-messages.ts'

export interface ToolCallsOptions {
  readonly messages: (sessionId: string) => SessionMessages
  /** False: the host keeps the session's messages elsewhere. */
  readonly isUsed: (sessionId: string) => boolean | Promise<boolean>
  readonly timers: Timers
}

/** Looks for tool calls in the documents of this device, which may be about to hear of them. */
export function createToolCalls({ messages, isUsed, timers }: ToolCallsOptions): ToolCalls {
  return {
    async see(sessionId, toolCallId, until, maxMs) {
      if (!(await isUsed(sessionId))) return 'unknown'
      const document = messages(sessionId)
      const look = (): SeenCall => document.toolCall(toolCallId)?.status ?? 'absent'
      return new Promise((resolve) => {
        let done = false
        const finish = () => {
          if (done) return
          done = true
          timers.clearTimeout(bound)
          stop()
          resolve(look())
        }
        const check = () => {
          if (until(look())) finish()
        }
        const bound = timers.setTimeout(finish, maxMs)
        const stop = document.subscribe(check)
        document.whenLoaded().then(check, finish)
      })
    },
  }
}
