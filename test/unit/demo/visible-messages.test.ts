import type { Message } from '@agentskit/core'
import { expect, test } from 'vitest'
import { visibleMessages } from '../../../demo/src/visible-messages.ts'

let made = 0
function message(role: Message['role'], content: string, more: Partial<Message> = {}): Message {
  return { id: `m${++made}`, role, content, status: 'complete', createdAt: new Date(0), ...more }
}

const shown = (messages: readonly Message[]) =>
  visibleMessages(messages).map((item) => (item.kind === 'words' ? item.message.content : `card ${item.call.id}`))

const call = { id: 'app-1', name: 'refund', args: {}, status: 'complete' } as const

test('a tool call is a card, and its result is not a message of its own', () => {
  const messages = [
    message('user', 'refund me'),
    message('assistant', '', { toolCalls: [call] }),
    message('tool', 'Refunded', { toolCallId: 'app-1' }),
    message('assistant', 'Done.'),
  ]
  expect(shown(messages)).toEqual(['refund me', 'card app-1', 'Done.'])
})

test('the echo of a turn that rules answered is left out after a result, and only there', () => {
  const messages = [
    message('user', '/refund'),
    message('assistant', 'Prepared.'),
    message('assistant', '', { toolCalls: [call] }),
    message('tool', 'Refunded', { toolCallId: 'app-1' }),
    message('assistant', 'Prepared.'),
    message('user', '/refund'),
    message('assistant', 'Prepared.'),
  ]
  expect(shown(messages)).toEqual(['/refund', 'Prepared.', 'card app-1', '/refund', 'Prepared.'])
})

test('the same answer twice without a result between is shown twice', () => {
  expect(shown([message('assistant', 'Yes.'), message('assistant', 'Yes.')])).toEqual(['Yes.', 'Yes.'])
})

test('an answer that has no words yet shows while it streams, and when it failed', () => {
  expect(shown([message('assistant', '', { status: 'streaming' })])).toEqual([''])
  expect(shown([message('assistant', '', { status: 'error' })])).toEqual([''])
  expect(shown([message('assistant', '')])).toEqual([])
})
