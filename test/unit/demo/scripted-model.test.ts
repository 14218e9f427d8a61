import type { Message } from '@agentskit/core'
import { expect, test } from 'vitest'
import { answerTo, createScriptedModel, tokensOf } from '../../../demo/src/scripted-model.ts'

function message(role: Message['role'], content: string): Message {
  return { id: content, role, content, status: 'complete', createdAt: new Date(0) }
}

async function read(messages: Message[], onToken: (source: { abort(): void }) => void = () => {}) {
  const source = createScriptedModel({ tokenMs: 0 }).createSource({ messages })
  let text = ''
  const types: string[] = []
  for await (const chunk of source.stream()) {
    types.push(chunk.type)
    text += chunk.content ?? ''
    onToken(source)
  }
  return { text, types }
}

test('the same message has the same answer, token by token and then done', async () => {
  const messages = [message('user', 'hello  there')]
  const { text, types } = await read(messages)
  expect(text).toBe(answerTo(messages))
  expect(text).toContain('“hello  there”')
  expect(types).toHaveLength(tokensOf(text).length + 1)
  expect(types.at(-1)).toBe('done')
})

test('a stopped answer ends without another token', async () => {
  const { types } = await read([message('user', 'hello')], (source) => source.abort())
  expect(types).toEqual(['text'])
})

test('asked for a refund it calls the tool, each time as a call of its own', async () => {
  const ids: string[] = []
  for (const _ of [1, 2]) {
    const source = createScriptedModel({ tokenMs: 0 }).createSource({ messages: [message('user', 'A refund, please')] })
    for await (const { type, toolCall } of source.stream()) {
      if (type === 'tool_call' && toolCall) ids.push(toolCall.id)
      if (toolCall) expect(JSON.parse(toolCall.args)).toMatchObject({ order: 'A-1042', euros: 25 })
    }
  }
  expect(new Set(ids).size).toBe(2)
})

test('after a tool it says what the tool did', () => {
  expect(answerTo([message('tool', 'Refunded 25 €.')])).toContain('Refunded 25 €.')
  expect(answerTo([message('tool', 'A person rejected it.')])).toContain('nothing was refunded')
})
