import { createChatController } from '@agentskit/core'
import { expect, test } from 'vitest'
import type { ToolCall } from '../../../src/contract/chat-message.ts'
import { createChatSession } from '../../../src/session/create-chat-session.ts'
import { chatDefinition, fakeChat, rejected, showingChat } from './chat-fixtures.ts'
import { createMemorySessionStorage } from './memory-session-storage.ts'

const ID = 'session-1'
const CALL: ToolCall = { id: 'call-1', name: 'refund', args: { euros: 5 }, status: 'requires_confirmation' }

function create(storage = createMemorySessionStorage()) {
  const session = createChatSession(chatDefinition(), { sessionId: ID, storage })
  return { storage, session }
}

test('G1 a call that the model made is put before a person, and runs once when both tabs approve it', async () => {
  const { storage, session } = create()
  const chat = showingChat()
  chat.set(CALL.id, 'requires_confirmation')
  const coordinator = session.createConfirmation({ chat })
  const record = await coordinator.adopt(CALL)
  expect(record).toMatchObject({ toolCallId: 'call-1', action: 'refund', input: { euros: 5 }, status: 'pending' })
  expect(storage.read(ID)?.confirmations).toMatchObject([{ token: record.token, toolCallId: 'call-1' }])
  const decisions = [coordinator.approve(record.token, ID), coordinator.approve(record.token, ID)]
  expect((await Promise.all(decisions)).map(({ status }) => status)).toEqual(['approved', 'approved'])
  expect(chat.calls).toEqual(['approve call-1'])
})

test('a call is adopted once, however often it is asked for, and a proposed one is adopted by its proposal', async () => {
  const { storage, session } = create()
  const coordinator = session.createConfirmation({ chat: fakeChat() })
  const [one, two] = await Promise.all([coordinator.adopt(CALL), coordinator.adopt(CALL)])
  expect(two).toEqual(one)
  const proposed = await coordinator.propose({ name: 'refund', input: {} })
  const call = { id: proposed.toolCallId, name: 'refund', args: {}, status: 'requires_confirmation' } as const
  expect(await coordinator.adopt(call)).toEqual(proposed)
  expect(storage.read(ID)?.confirmations).toHaveLength(2)
})

test('G3 a call with the id of one that is decided is denied, and the earlier record does not stand for it', async () => {
  const { session } = create()
  const chat = showingChat()
  chat.set(CALL.id, 'requires_confirmation')
  const coordinator = session.createConfirmation({ chat })
  await coordinator.approve((await coordinator.adopt(CALL)).token, ID)
  chat.set(CALL.id, 'requires_confirmation')
  expect(await rejected(coordinator.adopt({ ...CALL, args: { euros: 500 } }))).toMatchObject({ name: 'ConfigError' })
  expect(chat.calls).toEqual(['approve call-1', 'deny call-1 the confirmation could not be stored'])
})

test.each([
  ['an input that no envelope can hold', { ...CALL, args: { when: new Date(0) } }, 'ConfigError'],
  ['an id that no envelope can hold', { ...CALL, id: 'call 1' }, 'RejoinError'],
] as const)('G2 a call with %s is denied: without a record anybody could run it', async (_, call, name) => {
  const { session } = create()
  const chat = showingChat()
  chat.set(call.id, 'requires_confirmation')
  const coordinator = session.createConfirmation({ chat })
  expect(await rejected(coordinator.adopt(call))).toMatchObject({ name })
  expect(chat.calls).toEqual([`deny ${call.id} the confirmation could not be stored`])
  expect(session.getConfirmations()).toEqual([])
})

test('R8 a call is stored before its record', async () => {
  const stored: string[] = []
  const storage = createMemorySessionStorage()
  const memory = {
    load: () => [],
    save: () => {
      stored.push('messages')
    },
  }
  const definition = chatDefinition()
  const chat = { ...definition.chat, memory }
  const session = createChatSession(
    { ...definition, chat },
    {
      sessionId: ID,
      storage: {
        ...storage,
        save: (...args) => {
          stored.push('record')
          return storage.save(...args)
        },
      },
    },
  )
  const controller = createChatController({
    ...session.chat,
    tools: [{ name: 'refund', requiresConfirmation: true, execute: () => 'done' }],
  })
  controller.setMessages([
    { id: 'm1', role: 'assistant', content: '', status: 'complete', createdAt: new Date(0), toolCalls: [CALL] },
  ])
  stored.length = 0
  await session.createConfirmation({ chat: controller }).adopt(CALL)
  expect(stored).toEqual(['messages', 'record'])
})
