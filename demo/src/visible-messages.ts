import type { Message, ToolCall } from '@agentskit/core'

/** What the conversation shows: words, and tool calls as cards. */
export type VisibleItem =
  | { readonly kind: 'words'; readonly key: string; readonly message: Message }
  | { readonly kind: 'call'; readonly key: string; readonly call: ToolCall }

/**
 * Results of tools are shown in the card of their call. After a result the chat asks for an answer again, and a turn
 * that rules had answered is then answered with the same words: this echo is left out.
 */
export function visibleMessages(messages: readonly Message[]): readonly VisibleItem[] {
  const items: VisibleItem[] = []
  let lastAnswer: string | undefined
  let afterResult = false
  for (const message of messages) {
    if (message.role === 'tool') {
      afterResult = true
      continue
    }
    const echo = message.role === 'assistant' && afterResult && message.content === lastAnswer
    const empty = message.content === '' && message.status !== 'streaming' && message.status !== 'error'
    if (!echo && !empty) items.push({ kind: 'words', key: message.id, message })
    for (const call of message.toolCalls ?? []) items.push({ kind: 'call', key: call.id, call })
    if (message.content === '') continue
    if (message.role === 'assistant') lastAnswer = message.content
    afterResult = false
  }
  return items
}
