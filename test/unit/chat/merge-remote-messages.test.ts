import type { Message } from '@agentskit/core'
import { expect, test } from 'vitest'
import { mergeRemoteMessages } from '../../../src/chat/merge-remote-messages.ts'

function message(id: string, content = id, more: Partial<Message> = {}): Message {
  return { id, role: 'user', status: 'complete', content, createdAt: new Date(0), ...more }
}

/** The chat's list, of which some messages are unsaved and some stream. */
function local(messages: readonly Message[], unsaved: readonly Message[] = [], streams: readonly Message[] = []) {
  return {
    messages,
    isUnsaved: (each: Message) => unsaved.includes(each),
    streamsHere: (each: Message) => streams.includes(each),
    isDropped: (_: string) => false,
    isAbandoned: (_: Message) => false,
    end: (each: Message) => each,
  }
}

const [a, b, c] = [message('a'), message('b'), message('c')]

test('H12 what the chat shows already is not put into it again', () => {
  expect(mergeRemoteMessages(local([a, b]), [{ ...a }, { ...b, createdAt: new Date(5) }])).toBeUndefined()
})

test('G5 messages of others are taken over where they stand', () => {
  expect(mergeRemoteMessages(local([a, c]), [a, b, c])).toEqual([a, b, c])
  const edited = message('a', 'edited')
  expect(mergeRemoteMessages(local([a, c]), [edited, c])).toEqual([edited, c])
})

test('G5 a turn that is not stored yet goes behind the others, where its save will put it', () => {
  const answer = message('answer', '', { role: 'assistant' })
  expect(mergeRemoteMessages(local([a, b, answer], [b, answer]), [a, c])).toEqual([a, c, b, answer])
  expect(mergeRemoteMessages(local([b], [b]), [c])).toEqual([c, b])
})

test('G7 what is not stored yet of an earlier turn stays, after the message that it followed', () => {
  const result = message('result', 'done', { role: 'tool' })
  expect(mergeRemoteMessages(local([a, result], [result]), [a, c])).toEqual([a, result, c])
})

test('G7 two messages that are not stored yet keep their order, also when what they followed is gone', () => {
  const d = message('d')
  expect(mergeRemoteMessages(local([a, b, d], [b, d]), [c])).toEqual([c, b, d])
})

test('a message that was stored and is gone was removed elsewhere', () => {
  expect(mergeRemoteMessages(local([a, b]), [a])).toEqual([a])
})

test('P17 a message that streams here is never replaced, whatever is stored of it', () => {
  const ours = message('s', 'one two', { role: 'assistant', status: 'streaming' })
  const theirs = message('s', 'one', { role: 'assistant', status: 'streaming' })
  expect(mergeRemoteMessages(local([a, ours], [], [ours]), [a, theirs])).toBeUndefined()
  expect(mergeRemoteMessages(local([a, ours], [], [ours]), [a, b])?.at(1)).toBe(ours)
})

test('a message that was changed here and is not saved stays as it is here', () => {
  const running = message('a', '', { toolCalls: [{ id: 't', name: 'refund', args: {}, status: 'running' }] })
  const waiting = message('a', '', {
    toolCalls: [{ id: 't', name: 'refund', args: {}, status: 'requires_confirmation' }],
  })
  expect(mergeRemoteMessages(local([running], [running]), [waiting])).toBeUndefined()
  expect(mergeRemoteMessages(local([running]), [waiting])).toEqual([waiting])
})
