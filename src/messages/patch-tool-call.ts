import type { ChatMemory } from '../contract/chat-memory.ts'
import type { Message, ToolCall } from '../contract/chat-message.ts'

/** Changes one tool call in the stored messages, wherever it stands. False: there is no such call. */
export async function patchToolCall(
  memory: ChatMemory,
  toolCallId: string,
  patch: (call: ToolCall) => ToolCall,
): Promise<boolean> {
  const messages = await memory.load()
  let found = false
  const patched = messages.map((message): Message => {
    if (!message.toolCalls?.some(({ id }) => id === toolCallId)) return message
    found = true
    return { ...message, toolCalls: message.toolCalls.map((call) => (call.id === toolCallId ? patch(call) : call)) }
  })
  if (found) await memory.save(patched)
  return found
}
