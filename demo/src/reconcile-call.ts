import { buildMessage, type Message, type ToolCall } from '@agentskit/core'

export interface BrokenRun {
  readonly toolCallId: string
  /** What it was to do. */
  readonly want: 'approving' | 'rejecting' | 'expiring'
  /** What a person found out. */
  readonly ran: boolean
}

const RAN = 'A person found that it had run.'
const DENIED = 'It was denied.'

/**
 * The messages after a person said what became of a run that broke off. The chat left the call as running: what did not
 * run waits for a decision again, and what ran has a result, because a model cannot go on from a call without one.
 */
export function reconcileCall(messages: readonly Message[], { toolCallId, want, ran }: BrokenRun): Message[] {
  const asks = messages.findLastIndex(({ toolCalls = [] }) => toolCalls.some(({ id }) => id === toolCallId))
  const asking = messages[asks]
  if (!asking) return [...messages]
  const outcome: Partial<ToolCall> =
    want === 'approving' ? { status: 'complete', result: RAN } : { status: 'error', error: DENIED }
  const patch = ran ? outcome : ({ status: 'requires_confirmation' } as const)
  const toolCalls = (asking.toolCalls ?? []).map((call) => (call.id === toolCallId ? { ...call, ...patch } : call))
  const answered = messages.some((message) => message.toolCallId === toolCallId)
  const result = buildMessage({ role: 'tool', content: outcome.result ?? DENIED, toolCallId })
  return [
    ...messages.slice(0, asks),
    { ...asking, toolCalls },
    ...(ran && !answered ? [result] : []),
    ...messages.slice(asks + 1),
  ]
}
