import type { Message, ToolCall } from '../contract/chat-message.ts'

/** A question and its answer. */
export function history(): Message[] {
  return [user('u1', 'one'), answer('a1', 'two')]
}

export function at(minute: number): Date {
  return new Date(Date.UTC(2026, 9, 1, 10, minute))
}

export function user(id: string, content: string, rest: Partial<Message> = {}): Message {
  return { id, role: 'user', content, status: 'complete', createdAt: at(0), ...rest }
}

export function answer(id: string, content: string, rest: Partial<Message> = {}): Message {
  return user(id, content, { role: 'assistant', ...rest })
}

export function streaming(id: string, content: string): Message {
  return answer(id, content, { status: 'streaming' })
}

export function call(id: string, rest: Partial<ToolCall> = {}): ToolCall {
  return { id, name: 'refund', args: {}, status: 'complete', ...rest }
}

/** Uses every field that a message may have. */
export function fullHistory(): Message[] {
  const calls = [
    call('c1', { args: { order: 7, nested: { list: [1, 'two', null, true] } }, result: 'refunded' }),
    call('c2', { status: 'error', error: 'denied' }),
    call('c3', { status: 'requires_confirmation' }),
  ]
  const parts: Message['parts'] = [
    { type: 'text', text: 'look' },
    { type: 'image', source: 'https://example.com/a.png', mimeType: 'image/png', detail: 'low' },
    { type: 'file', source: 'file-1', filename: 'a.pdf' },
  ]
  return [
    answer('s1', 'be kind', { role: 'system', status: 'pending' }),
    user('u1', 'caf\u00e9 \u{1F680} \u0000 \u2028', { parts }),
    answer('a1', '', { toolCalls: calls, metadata: { usage: { tokens: 3 }, reasoning: 'because' } }),
    answer('t1', 'refunded', { role: 'tool', toolCallId: 'c1', createdAt: at(1) }),
    answer('a2', 'it broke', { status: 'error', createdAt: at(2) }),
  ]
}

/** What no memory may keep: its reader would meet something that is no message. */
export function notMessages(): unknown[] {
  const cycle: Record<string, unknown> = {}
  cycle.self = cycle
  const bad: Record<string, unknown>[] = [
    { id: '' },
    { role: 'robot' },
    { status: 'asleep' },
    { content: 7 },
    { createdAt: new Date(Number.NaN) },
    { createdAt: '2026-10-01' },
    { metadata: cycle },
    { metadata: { big: 1n } },
    { toolCalls: [{ id: 'c1' }] },
  ]
  return [null, 7, ...bad.map((change) => ({ ...user('u3', 'x'), ...change }))]
}
