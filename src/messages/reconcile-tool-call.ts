import type { ChatMemory } from '../contract/chat-memory.ts'
import type { Message, ToolCall } from '../contract/chat-message.ts'

/** What a person found out about a tool call whose run broke off. */
export type ToolCallFinding =
  | { readonly kind: 'did-not-run' }
  /** `answer`: what the model is told as the call's result. */
  | { readonly kind: 'ran' | 'denied'; readonly answer: string }

/**
 * Stores the finding in the messages: what did not run waits for a decision again; what ended has a result and a tool
 * message, because a model cannot go on from a call without an answer. A call that has its result keeps it; an error, as a
 * page that dies in the middle leaves it, gives way to what the person found.
 */
export async function reconcileToolCall(
  memory: ChatMemory,
  toolCallId: string,
  finding: ToolCallFinding,
  environment: { readonly newId: () => string; readonly now: () => number },
): Promise<void> {
  const messages = await memory.load()
  const at = messages.findLastIndex(({ toolCalls = [] }) => toolCalls.some(({ id }) => id === toolCallId))
  const asking = messages[at]
  if (!asking) return
  const toolCalls = (asking.toolCalls ?? []).map((call) => (call.id === toolCallId ? withFinding(call, finding) : call))
  const answered = finding.kind === 'did-not-run' || messages.some((message) => message.toolCallId === toolCallId)
  const answer: readonly Message[] = answered
    ? []
    : [
        {
          id: environment.newId(),
          role: 'tool',
          content: finding.answer,
          status: 'complete',
          toolCallId,
          createdAt: new Date(environment.now()),
        },
      ]
  await memory.save([...messages.slice(0, at), { ...asking, toolCalls }, ...answer, ...messages.slice(at + 1)])
}

function withFinding(call: ToolCall, finding: ToolCallFinding): ToolCall {
  if (call.status === 'complete' || (call.status === 'error' && finding.kind === 'denied')) return call
  const { result: _result, error: _error, ...rest } = call
  switch (finding.kind) {
    case 'did-not-run':
      return { ...rest, status: 'requires_confirmation' }
    case 'ran':
      return { ...rest, status: 'complete', result: finding.answer }
    case 'denied':
      return { ...rest, status: 'error', error: finding.answer }
  }
}
