import { type AdapterFactory, createChatController, createInMemoryMemory } from '@agentskit/core'
import { expect, test } from 'vitest'
import type { ToolDecisionStore } from '../../../src/contract/tool-decision-store.ts'
import { RejoinError } from '../../../src/errors.ts'
import type { ChatSession } from '../../../src/session/chat-session.ts'
import { createChatSession } from '../../../src/session/create-chat-session.ts'
import type { ChatDefinition } from '../../../src/session/definition.ts'
import { resumeChatSession } from '../../../src/session/resume-chat-session.ts'
import { rejected } from './chat-fixtures.ts'
import { createMemorySessionStorage } from './memory-session-storage.ts'

// Under core 1.15 a controller decides a call of an earlier turn through the store of decisions that its configuration
// brings. A session brings one over its own claims.

const ID = 'session-1'

/** Calls for a refund when it is asked for one, and has nothing to say to its result. */
const adapter: AdapterFactory = {
  createSource: ({ messages }) => ({
    async *stream() {
      if (messages.findLast(({ role }) => role !== 'assistant')?.content === 'refund') {
        yield { type: 'tool_call', toolCall: { id: 'call-1', name: 'refund', args: '{"euros":5}' } }
      }
      yield { type: 'done' }
    },
    abort() {},
  }),
}

/** One conversation, which any number of tabs may open: each with a session and a controller of its own. */
function conversation() {
  const storage = createMemorySessionStorage()
  const memory = createInMemoryMemory()
  const ran: unknown[] = []
  let now = 1_000
  let during = Promise.resolve()
  const execute = async (args: unknown) => {
    ran.push(args)
    await during
    return 'done'
  }
  const tools = [{ name: 'refund', requiresConfirmation: true, execute }]
  const definition = { id: 'support', chat: { adapter, memory, tools } }

  async function open() {
    const session = await resumeChatSession(definition, { sessionId: ID, storage, now: () => new Date(now) })
    const initialMessages = await memory.load()
    const chat = createChatController({ ...session.chat, initialMessages, regime: 'finalized' })
    return { session, chat }
  }

  return {
    open,
    storage,
    ran,
    /** Refunds take until the returned function is called. */
    hold: () => {
      let end = () => {}
      during = new Promise((resolve) => {
        end = resolve
      })
      return end
    },
    statuses: () => storage.saves.map(({ snapshot }) => snapshot.confirmations[0]?.status),
    later: (ms: number) => {
      now += ms
    },
  }
}

test('G1 C9 a call that the model made is claimed and settled by the chat itself, once among all tabs', async () => {
  const { open, ran, statuses } = conversation()
  const one = await open()
  await one.chat.send('refund')
  expect(one.session.getConfirmations()).toMatchObject([{ toolCallId: 'call-1', status: 'pending', action: 'refund' }])
  const two = await open()
  const both = await Promise.allSettled([one.chat.decide?.('call-1', 'approve'), two.chat.decide?.('call-1', 'deny')])
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(both[1]).toMatchObject({ reason: { code: 'AK_ACTION_ALREADY_DECIDED' } })
  expect(ran).toEqual([{ euros: 5 }])
  expect(statuses().at(-1)).toBe('approved')
  expect(new Set(statuses())).toEqual(new Set(['pending', 'approving', 'approved', 'rejecting']))
})

test('C8 a call is approved in a tab that was opened after it, by its coordinator and by the chat', async () => {
  for (const approve of ['coordinator', 'chat'] as const) {
    const { open, ran, storage } = conversation()
    await (await open()).chat.send('refund')
    const { session, chat } = await open()
    const coordinator = session.createConfirmation({ chat })
    const token = coordinator.getByToolCall('call-1')?.token ?? ''
    if (approve === 'chat') await chat.approve('call-1')
    else expect((await coordinator.approve(token, ID)).status).toBe('approved')
    expect(ran).toEqual([{ euros: 5 }])
    expect(storage.read(ID)?.confirmations).toMatchObject([{ status: 'approved' }])
    expect(chat.getState().messages.flatMap(({ toolCalls = [] }) => toolCalls)).toMatchObject([{ status: 'complete' }])
    // Once more, in whichever way: the recorded outcome, and nothing runs.
    await chat.approve('call-1')
    await coordinator.approve(token, ID)
    expect(await (await open()).chat.decide?.('call-1', 'approve')).toMatchObject({ status: 'complete' })
    expect(ran).toHaveLength(1)
  }
})

test('C3 a denial in the chat is a rejection, and the call never runs', async () => {
  const { open, ran, storage } = conversation()
  const { chat } = await open()
  await chat.send('refund')
  await chat.deny('call-1', 'too expensive')
  expect(storage.read(ID)?.confirmations).toMatchObject([{ status: 'rejected' }])
  expect(await rejected(Promise.resolve(chat.approve('call-1')))).toMatchObject({ code: 'AK_ACTION_ALREADY_DECIDED' })
  expect(ran).toEqual([])
})

test('C3 F6 an approval in the chat after expiresAt expires instead of running', async () => {
  const { open, ran, storage, later } = conversation()
  const { chat } = await open()
  await chat.send('refund')
  later(300_000)
  expect(await rejected(Promise.resolve(chat.approve('call-1')))).toMatchObject({ code: 'AK_ACTION_ALREADY_DECIDED' })
  expect(storage.read(ID)?.confirmations).toMatchObject([{ status: 'expired' }])
  expect(ran).toEqual([])
})

test('C3 F6 K9 an approval in the chat that came too late denies the call there, as one of the coordinator does', async () => {
  const { open, ran, storage, later } = conversation()
  const { session, chat } = await open()
  session.createConfirmation({ chat })
  await chat.send('refund')
  later(300_000)
  expect(await rejected(Promise.resolve(chat.approve('call-1')))).toMatchObject({ code: 'AK_ACTION_ALREADY_DECIDED' })
  const calls = chat.getState().messages.flatMap(({ toolCalls = [] }) => toolCalls)
  expect(calls).toMatchObject([{ id: 'call-1', status: 'error', error: 'confirmation expired' }])
  expect(storage.read(ID)?.confirmations).toMatchObject([{ status: 'expired' }])
  expect(ran).toEqual([])
})

test('G1 while a coordinator has a chat run an action, nobody else runs it: neither another chat nor the same once more', async () => {
  const { open, ran, statuses, hold } = conversation()
  const { session, chat } = await open()
  await chat.send('refund')
  const endRefund = hold()
  const { chat: other } = await open()
  const coordinator = session.createConfirmation({ chat })
  const approved = coordinator.approve(coordinator.getByToolCall('call-1')?.token ?? '', ID)
  const store = storeOf(session)
  await expect.poll(() => ran).toHaveLength(1)
  expect(await store?.get('call-1')).toMatchObject({ status: 'claimed', decision: 'approve' })
  expect(await store?.claim('call-1', 'approve')).toBeUndefined()
  expect(await store?.claim('call-1', 'deny')).toBeUndefined()
  const late = await Promise.allSettled([chat.decide?.('call-1', 'deny'), other.decide?.('call-1', 'deny')])
  expect(late.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  endRefund()
  expect((await approved).status).toBe('approved')
  expect(ran).toHaveLength(1)
  expect(statuses().at(-1)).toBe('approved')
})

test('C10 G2 a claim whose tab died is not taken again', async () => {
  const { open, ran } = conversation()
  const one = await open()
  await one.chat.send('refund')
  expect(await storeOf(one.session)?.claim('call-1', 'approve')).toMatchObject({ status: 'claimed' })
  const { chat } = await open()
  expect(await rejected(Promise.resolve(chat.approve('call-1')))).toMatchObject({ code: 'AK_ACTION_ALREADY_DECIDED' })
  expect(ran).toEqual([])
})

test('K4 a decision that waits for the server says so, and the chat runs nothing', async () => {
  const { open, ran, storage } = conversation()
  await (await open()).chat.send('refund')
  const queued = new RejoinError('claim-queued', 'It waits for the server.')
  const session = await resumeChatSession(
    { id: 'support', chat: { adapter, memory: createInMemoryMemory() } },
    { sessionId: ID, storage: { ...storage, save: () => Promise.reject(queued) }, now: () => new Date(1_000) },
  )
  expect(await rejected(Promise.resolve(storeOf(session)?.claim('call-1', 'approve')))).toBe(queued)
  expect(ran).toEqual([])
})

test('an outcome counts only from the chat that claimed it, and an unknown call is none of the session', async () => {
  const { open, storage } = conversation()
  const { session, chat } = await open()
  await chat.send('refund')
  const decisions = storeOf(session)
  const record = await decisions?.get('call-1')
  expect(record).toMatchObject({ toolCallId: 'call-1', status: 'pending', messages: [{ content: 'refund' }, {}] })
  const settled = decisions?.settle({ toolCallId: 'call-1', messages: [], status: 'complete', decision: 'approve' })
  expect(await rejected(Promise.resolve(settled))).toMatchObject({ code: 'refused' })
  expect(storage.read(ID)?.confirmations).toMatchObject([{ status: 'pending' }])
  expect(await decisions?.get('call-9')).toBeUndefined()
  expect(await decisions?.claim('call-9', 'approve')).toBeUndefined()
})

test('S7 a store of decisions that the host gives is kept, and one of another session is not', () => {
  const definition: ChatDefinition = { id: 'support', chat: { adapter } }
  const [one, two] = [createChatSession(definition), createChatSession(definition)]
  expect(two.updateChat(one.chat).decisionStore).toBe(two.chat.decisionStore)
  const own = { ...storeOf(one) } as ToolDecisionStore
  expect(two.updateChat({ adapter, decisionStore: own }).decisionStore).toBe(own)
})

/** What the session puts into a configuration, whatever the type of that is. */
function storeOf({ chat }: ChatSession): ToolDecisionStore | undefined {
  return chat.decisionStore
}
