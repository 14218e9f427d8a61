import { type ChatConfig, createChatController } from '@agentskit/core'
import { expect, test } from 'vitest'
import type { Message } from '../../../src/contract/chat-message.ts'
import type { QueuedClaim } from '../../../src/contract/live-session-storage.ts'
import type { Confirmation } from '../../../src/contract/session-snapshot.ts'
import { RejoinError } from '../../../src/errors.ts'
import type { ActionConfirmation } from '../../../src/session/action-confirmation.ts'
import { ConfigError } from '../../../src/session/config-error.ts'
import { createActionConfirmation } from '../../../src/session/create-action-confirmation.ts'
import { type ChatSessionOptions, createChatSession } from '../../../src/session/create-chat-session.ts'
import { resumeChatSession } from '../../../src/session/resume-chat-session.ts'
import { snapshot, confirmation as stored } from '../contract/snapshots.ts'
import { chatDefinition, fakeChat, rejected, scriptedAdapter, showingChat } from './chat-fixtures.ts'
import { createMemorySessionStorage, type MemorySessionStorage } from './memory-session-storage.ts'

const ID = 'session-1'
const REFUND = { name: 'refund', input: { order: 7 } }

function own(options: Partial<Parameters<typeof createActionConfirmation>[0]> = {}) {
  let sequence = 0
  return createActionConfirmation({ sessionId: ID, chat: fakeChat(), createId: () => `${++sequence}`, ...options })
}

function controllerWith(tool: Record<string, unknown>, config: Partial<ChatConfig> = {}) {
  return createChatController({
    adapter: scriptedAdapter(),
    tools: [{ name: 'refund', requiresConfirmation: true, ...tool }],
    ...config,
  })
}

function createStored(storage = createMemorySessionStorage(), options: ChatSessionOptions = {}) {
  return { storage, session: createChatSession(chatDefinition(), { sessionId: ID, storage, ...options }) }
}

function resume(storage: ChatSessionOptions['storage'] & object) {
  return resumeChatSession(chatDefinition(), { sessionId: ID, storage })
}

/** A stored session with one pending confirmation, `confirm-1` of the call `app-1`. */
function seeded(change: Partial<Confirmation> = {}): MemorySessionStorage {
  const storage = createMemorySessionStorage()
  const pending = stored({ expiresAt: Date.now() + 60_000, ...change })
  storage.corrupt(ID, JSON.stringify(snapshot({ confirmations: [pending] })))
  return storage
}

function statusIn(storage: MemorySessionStorage, token = 'confirm-1') {
  return storage.read(ID)?.confirmations.find((each) => each.token === token)?.status
}

test('C1 a proposal becomes a pending record with a copy of its input', async () => {
  const input = { order: 7, lines: [{ sku: 'a' }] }
  const record = await own({ now: () => 100, createId: () => 'choice-1' }).propose({ name: 'refund', input })
  input.order = 8
  expect(record).toEqual({
    token: 'confirm-choice-1',
    sessionId: ID,
    action: 'refund',
    input: { order: 7, lines: [{ sku: 'a' }] },
    toolCallId: 'app-choice-1',
    expiresAt: 300_100,
    status: 'pending',
  })
})

test('C1 a call that needs no confirmation after all leaves a rejected record', async () => {
  const chat = {
    ...fakeChat(),
    proposeToolCall: async (call: { id: string; name: string; args: Record<string, unknown> }) => ({
      ...call,
      status: 'error' as const,
    }),
  }
  expect((await own({ chat }).propose(REFUND)).status).toBe('rejected')
})

test('F12 default ids do not repeat between coordinators that propose in the same millisecond', async () => {
  const now = () => 0
  const { session } = createStored()
  const coordinators = [
    createActionConfirmation({ sessionId: ID, chat: fakeChat(), now }),
    createActionConfirmation({ sessionId: ID, chat: fakeChat(), now }),
    session.createConfirmation({ chat: fakeChat(), now }),
    session.createConfirmation({ chat: fakeChat(), now }),
  ]
  const records = await Promise.all(coordinators.map((each) => each.propose(REFUND)))
  expect(new Set(records.map(({ token }) => token)).size).toBe(4)
  expect(new Set(records.map(({ toolCallId }) => toolCallId)).size).toBe(4)
})

test('C2 F9 two approvals in one tick run once, and both see approved', async () => {
  let runs = 0
  const chat = controllerWith({ execute: () => `run ${++runs}` })
  const coordinator = own({ chat })
  const { token } = await coordinator.propose(REFUND)
  const both = await Promise.all([coordinator.approve(token, ID), coordinator.approve(token, ID)])
  expect(both.map(({ status }) => status)).toEqual(['approved', 'approved'])
  expect(runs).toBe(1)
})

test('C2 F9 approve and reject in one tick end as the first one asked, with a claim and a settlement for both', async () => {
  const { storage, session } = createStored()
  const chat = fakeChat()
  const coordinator = session.createConfirmation({ chat, createId: () => 'one' })
  const { token } = await coordinator.propose(REFUND)
  const saves = storage.saves.length
  const both = await Promise.all([coordinator.approve(token, ID), coordinator.reject(token, ID, 'no')])
  expect(both.map(({ status }) => status)).toEqual(['approved', 'approved'])
  expect(chat.calls).toEqual(['approve app-one'])
  expect(storage.saves.length - saves).toBe(2)
})

test('C2 F9 two coordinators of one session share the decision too', async () => {
  const { session } = createStored()
  const chat = fakeChat()
  const [one, two] = [session.createConfirmation({ chat }), session.createConfirmation({ chat })]
  const { token } = await one.propose(REFUND)
  const both = await Promise.all([two.reject(token, ID), one.approve(token, ID)])
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(chat.calls).toHaveLength(1)
})

test('C3 an unknown token and a foreign session are refused', async () => {
  const coordinator = own()
  const { token } = await coordinator.propose(REFUND)
  for (const attempt of [
    coordinator.approve(token, 'session-2'),
    coordinator.reject(token, 'session-2'),
    coordinator.approve('missing', ID),
    coordinator.reject('missing', ID),
  ]) {
    expect(await rejected(attempt)).toBeInstanceOf(ConfigError)
  }
})

test('C3 what is rejected stays rejected under approve', async () => {
  const chat = fakeChat()
  const coordinator = own({ chat })
  const { token } = await coordinator.propose(REFUND)
  expect((await coordinator.reject(token, ID, 'no')).status).toBe('rejected')
  expect((await coordinator.approve(token, ID)).status).toBe('rejected')
  expect(chat.calls).toEqual(['deny app-1 no'])
})

test('C3 F6 an approval at expiresAt expires without running, and a rejection does not look at the time', async () => {
  let clock = 10
  const chat = fakeChat()
  const coordinator = own({ chat, ttlMs: 5, now: () => clock })
  const [first, second] = [await coordinator.propose(REFUND), await coordinator.propose(REFUND)]
  clock = first.expiresAt
  expect((await coordinator.approve(first.token, ID)).status).toBe('expired')
  expect((await coordinator.reject(second.token, ID)).status).toBe('rejected')
  expect(chat.calls).toEqual(['deny app-1 confirmation expired', 'deny app-2'])
})

test('C4 what the chat refuses to propose passes with its own code, and leaves no record', async () => {
  const chat = createChatController({
    adapter: scriptedAdapter(),
    tools: [
      { name: 'confirmed', requiresConfirmation: true, execute: () => '' },
      { name: 'immediate', execute: () => '' },
    ],
    validateToolArgs: (_, args) => args.valid === true,
  })
  const coordinator = own({ chat })
  for (const [name, code] of [
    ['missing', 'AK_TOOL_NOT_FOUND'],
    ['immediate', 'AK_CONFIG_INVALID'],
    ['confirmed', 'AK_TOOL_INVALID_INPUT'],
  ] as const) {
    expect(await rejected(coordinator.propose({ name, input: {} }))).toMatchObject({ code })
  }
  expect(coordinator.getSnapshot()).toEqual([])
})

test('C4 an input that the envelope cannot hold is refused before anything is proposed', async () => {
  const chat = fakeChat()
  let proposed = 0
  const proposeToolCall: typeof chat.proposeToolCall = (call) => {
    proposed++
    return chat.proposeToolCall(call)
  }
  const coordinator = own({ chat: { ...chat, proposeToolCall } })
  const shared = {}
  for (const input of [
    { missing: undefined },
    { at: new Date() },
    { a: shared, b: shared },
    { text: 'x'.repeat(16_385) },
  ]) {
    expect(await rejected(coordinator.propose({ name: 'refund', input }))).toBeInstanceOf(ConfigError)
  }
  expect(proposed).toBe(0)
})

test.each(['approve', 'reject', 'expire'] as const)(
  'C5 without storage a failed %s returns to pending and may be tried again',
  async (kind) => {
    let clock = 0
    for (const session of [undefined, createChatSession(chatDefinition(), { sessionId: ID })]) {
      const chat = fakeChat()
      const options = { chat, ttlMs: 10, now: () => clock }
      const coordinator = session ? session.createConfirmation(options) : own(options)
      const { token, expiresAt } = await coordinator.propose(REFUND)
      if (kind === 'expire') clock = expiresAt
      const attempt = () => (kind === 'reject' ? coordinator.reject(token, ID) : coordinator.approve(token, ID))
      chat.failNext = new Error('temporary')
      expect(await rejected(attempt())).toMatchObject({ message: 'temporary' })
      expect(coordinator.getSnapshot()[0]?.status).toBe('pending')
      expect((await attempt()).status).toBe({ approve: 'approved', reject: 'rejected', expire: 'expired' }[kind])
      expect(chat.calls).toHaveLength(2)
    }
  },
)

test('C6 records and their input are frozen, and a tool that changes its arguments does not change them', async () => {
  const chat = controllerWith({
    execute: (args: Record<string, unknown>) => {
      args.value = 'changed'
      return ''
    },
  })
  const coordinator = own({ chat })
  const record = await coordinator.propose({ name: 'refund', input: { value: { nested: 'bound' } } })
  const shown = coordinator.getByToolCall(record.toolCallId)
  for (const each of [record, record.input, record.input.value, shown, shown?.input.value]) {
    expect(Object.isFrozen(each)).toBe(true)
  }
  await coordinator.approve(record.token, ID)
  expect(coordinator.getSnapshot()[0]?.input).toEqual({ value: { nested: 'bound' } })
})

test('C6 initial records are copied, not frozen in the hands of the host', () => {
  const initial = stored({ input: { nested: {} } })
  const coordinator = own({ initialRecords: [initial] })
  expect(coordinator.getByToolCall('app-1')).toMatchObject({ token: 'confirm-1', sessionId: ID })
  expect(Object.isFrozen(initial.input.nested)).toBe(false)
})

test('C7 an id of 121 characters, or one that is no SafeId, is refused before anything is proposed', async () => {
  for (const id of ['a'.repeat(121), '', 'a b', '-a']) {
    expect(await rejected(own({ createId: () => id }).propose(REFUND))).toMatchObject({
      name: 'ConfigError',
      message: expect.stringContaining('id is invalid'),
    })
  }
  expect((await own({ createId: () => 'a'.repeat(120) }).propose(REFUND)).token).toHaveLength(128)
})

test('C7 an id that is in use is refused, and what it stands for is untouched', async () => {
  const chat = fakeChat()
  const coordinator = own({ chat, createId: () => 'same' })
  await coordinator.propose(REFUND)
  expect(await rejected(coordinator.propose({ name: 'refund', input: { order: 9 } }))).toBeInstanceOf(ConfigError)
  expect(coordinator.getSnapshot()).toMatchObject([{ input: { order: 7 }, status: 'pending' }])
  expect(chat.calls).toEqual([])
})

test('C7 of two proposals in one tick under one id the second is refused', async () => {
  const coordinator = own({ createId: () => 'same' })
  const results = await Promise.allSettled([coordinator.propose(REFUND), coordinator.propose(REFUND)])
  expect(results).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: { name: 'ConfigError' } }])
  expect(coordinator.getSnapshot()).toHaveLength(1)
})

test('C7 a time to live that is no positive integer is refused', () => {
  for (const ttlMs of [0, -1, 1.5, Number.NaN]) expect(() => own({ ttlMs })).toThrow(ConfigError)
  expect(() => own({ sessionId: '' })).toThrow(ConfigError)
})

test('C8 F13 a resumed session finds the pending record by its tool call and approves it once, a third leaves it', async () => {
  const { storage, session } = createStored()
  const chat = fakeChat()
  const { token, toolCallId } = await session.createConfirmation({ chat }).propose(REFUND)
  const second = (await resume(storage)).createConfirmation({ chat })
  expect(second.getByToolCall(toolCallId)).toMatchObject({ token, status: 'pending', input: { order: 7 } })
  expect((await second.approve(token, ID)).status).toBe('approved')
  const third = (await resume(storage)).createConfirmation({ chat })
  expect((await third.approve(token, ID)).status).toBe('approved')
  expect(chat.calls).toEqual([`approve ${toolCallId}`])
})

test('C9 G1 of two sessions that approve at once one runs it, and the other learns how it stands', async () => {
  const storage = seeded()
  const [a, b] = await Promise.all([resume(storage), resume(storage)])
  const [chatA, chatB] = [fakeChat(), fakeChat()]
  const [left, right] = [a.createConfirmation({ chat: chatA }), b.createConfirmation({ chat: chatB })]
  const results = await Promise.allSettled([left.approve('confirm-1', ID), right.approve('confirm-1', ID)])
  expect(results).toMatchObject([
    { status: 'fulfilled', value: { status: 'approved' } },
    {
      status: 'rejected',
      reason: { name: 'SessionConflictError', record: { token: 'confirm-1', status: expect.stringMatching(/approv/) } },
    },
  ])
  expect([...chatA.calls, ...chatB.calls]).toEqual(['approve app-1'])
  expect(statusIn(storage)).toBe('approved')
  expect((await right.reject('confirm-1', ID)).status).toMatch(/approv/)
})

test('F19 E2E 4 the loser of a decision goes on without a reload', async () => {
  const storage = seeded()
  const [a, b] = await Promise.all([resume(storage), resume(storage)])
  const loser = b.createConfirmation({ chat: fakeChat() })
  await a.createConfirmation({ chat: fakeChat() }).reject('confirm-1', ID)
  await rejected(loser.approve('confirm-1', ID))
  expect(loser.getByToolCall('app-1')?.status).toBe('rejected')
  const next = await loser.propose(REFUND)
  expect((await loser.approve(next.token, ID)).status).toBe('approved')
  expect(storage.read(ID)?.confirmations.map(({ status }) => status)).toEqual(['rejected', 'approved'])
})

test('F19 a decision is not refused for a change that has nothing to do with it', async () => {
  const storage = seeded()
  const [a, b] = await Promise.all([resume(storage), resume(storage)])
  await b.persist()
  await b.createConfirmation({ chat: fakeChat() }).propose(REFUND)
  expect((await a.createConfirmation({ chat: fakeChat() }).approve('confirm-1', ID)).status).toBe('approved')
  expect(storage.read(ID)?.confirmations.map(({ status }) => status)).toEqual(['approved', 'pending'])
})

test('C10 G2 a run that failed leaves approving stored, and nobody runs it again', async () => {
  const storage = seeded()
  const chat = fakeChat()
  chat.failNext = new Error('network lost')
  const coordinator = (await resume(storage)).createConfirmation({ chat })
  expect(await rejected(coordinator.approve('confirm-1', ID))).toMatchObject({ message: 'network lost' })
  expect(statusIn(storage)).toBe('approving')
  expect((await coordinator.approve('confirm-1', ID)).status).toBe('approving')
  const later = (await resume(storage)).createConfirmation({ chat })
  expect((await later.approve('confirm-1', ID)).status).toBe('approving')
  expect(chat.calls).toEqual(['approve app-1'])
})

test('C11 a record that was proposed under one chat is approved under another', async () => {
  const { storage, session } = createStored()
  const { token } = await session.createConfirmation({ chat: fakeChat() }).propose(REFUND)
  const other = fakeChat()
  await session.createConfirmation({ chat: other }).approve(token, ID)
  expect(other.calls).toHaveLength(1)
  expect(statusIn(storage, token)).toBe('approved')
})

test('C12 a proposal that is not allowed is refused, and a right that was revoked since does not run', async () => {
  let allowed = false
  let runs = 0
  const chat = controllerWith({ execute: () => `${++runs}` }, { authorizeToolCall: () => allowed })
  const coordinator = own({ chat })
  expect(await rejected(coordinator.propose(REFUND))).toMatchObject({ code: 'AK_TOOL_FORBIDDEN' })
  allowed = true
  const { token } = await coordinator.propose(REFUND)
  allowed = false
  await coordinator.approve(token, ID)
  expect(runs).toBe(0)
})

test('F14 C8 nothing is decided by leaving: closing the session and forgetting the coordinator keeps it pending', async () => {
  const { storage, session } = createStored()
  const chat = fakeChat()
  const { token } = await session.createConfirmation({ chat }).propose(REFUND)
  session.close()
  expect(statusIn(storage, token)).toBe('pending')
  expect(chat.calls).toEqual([])
  const back = (await resume(storage)).createConfirmation({ chat })
  expect((await back.approve(token, ID)).status).toBe('approved')
})

test('F10 an approved record stays inert however often it is decided again', async () => {
  const storage = seeded()
  const chat = fakeChat()
  for (let round = 0; round < 3; round++) {
    const coordinator = (await resume(storage)).createConfirmation({ chat })
    expect((await coordinator.approve('confirm-1', ID)).status).toBe('approved')
    expect((await coordinator.reject('confirm-1', ID)).status).toBe('approved')
  }
  expect(chat.calls).toEqual(['approve app-1'])
})

test('G3 H13 K2 an approval of a call that the chat does not have claims nothing, and the record stays pending', async () => {
  const storage = seeded()
  const coordinator = (await resume(storage)).createConfirmation({ chat: showingChat() })
  expect(await rejected(coordinator.approve('confirm-1', ID))).toMatchObject({
    name: 'RejoinError',
    code: 'nothing-to-run',
    hint: expect.any(String),
  })
  expect(storage.saves).toEqual([])
  expect(coordinator.getByToolCall('app-1')?.status).toBe('pending')
})

test('K2 a rejection needs no call: what was asked for in a message that is gone does not stay open for good', async () => {
  const storage = seeded()
  const chat = showingChat()
  const coordinator = (await resume(storage)).createConfirmation({ chat })
  expect((await coordinator.reject('confirm-1', ID)).status).toBe('rejected')
  expect(storage.saves.map(({ snapshot }) => snapshot.confirmations[0]?.status)).toEqual(['rejecting', 'rejected'])
  expect(chat.calls).toEqual([])
})

test('G3 a denial that leaves the call waiting is noticed, and the record never says rejected', async () => {
  const storage = seeded()
  const chat = showingChat()
  chat.set('app-1', 'requires_confirmation')
  const coordinator = (await resume(storage)).createConfirmation({ chat: { ...chat, deny: async () => undefined } })
  expect(await rejected(coordinator.reject('confirm-1', ID))).toMatchObject({ code: 'nothing-to-run' })
  expect(statusIn(storage)).toBe('rejecting')
})

test('G3 a chat that does nothing is noticed, and the record never says approved', async () => {
  const storage = seeded()
  const chat = showingChat()
  chat.set('app-1', 'requires_confirmation')
  const inert = { ...chat, approve: async () => undefined }
  const coordinator = (await resume(storage)).createConfirmation({ chat: inert })
  expect(await rejected(coordinator.approve('confirm-1', ID))).toMatchObject({ code: 'nothing-to-run' })
  expect(statusIn(storage)).toBe('approving')
})

test('G3 without storage a chat that does nothing leaves the record pending', async () => {
  const chat = showingChat()
  const coordinator = own({ chat: { ...chat, approve: async () => undefined } })
  const { token } = await coordinator.propose(REFUND)
  expect(await rejected(coordinator.approve(token, ID))).toMatchObject({ code: 'nothing-to-run' })
  expect(coordinator.getSnapshot()[0]?.status).toBe('pending')
})

test('G3 a call that vanished while the claim was made is not run', async () => {
  const storage = seeded()
  const chat = showingChat()
  chat.set('app-1', 'requires_confirmation')
  const session = await resume({
    ...storage,
    save: (...args) => {
      chat.set('app-1', 'complete')
      return storage.save(...args)
    },
  })
  expect(await rejected(session.createConfirmation({ chat }).approve('confirm-1', ID))).toMatchObject({
    code: 'nothing-to-run',
  })
  expect(chat.calls).toEqual([])
})

test("G3 the storage's own refusal of an outcome that it did not see passes on", async () => {
  const storage = seeded()
  const session = await resume({
    ...storage,
    save: (snapshot, ...rest) => {
      if (snapshot.confirmations[0]?.status === 'approved') throw new RejoinError('nothing-to-run', 'unseen')
      return storage.save(snapshot, ...rest)
    },
  })
  const coordinator = session.createConfirmation({ chat: fakeChat() })
  expect(await rejected(coordinator.approve('confirm-1', ID))).toMatchObject({ code: 'nothing-to-run' })
  expect(coordinator.getByToolCall('app-1')?.status).toBe('approving')
})

test('an expiry that the storage refuses as too early passes on, and the record stays pending', async () => {
  const storage = seeded({ expiresAt: 1 })
  const refusal = new RejoinError('refused', 'not expired')
  const chat = fakeChat()
  const session = await resume({ ...storage, save: () => Promise.reject(refusal) })
  const coordinator = session.createConfirmation({ chat })
  expect(await rejected(coordinator.approve('confirm-1', ID))).toBe(refusal)
  expect(coordinator.getByToolCall('app-1')?.status).toBe('pending')
  expect(chat.calls).toEqual([])
})

test('an expiry is claimed and settled, also where the call is gone from the chat', async () => {
  const storage = seeded({ expiresAt: 1 })
  const coordinator = (await resume(storage)).createConfirmation({ chat: showingChat() })
  expect((await coordinator.approve('confirm-1', ID)).status).toBe('expired')
  expect(storage.saves.map(({ snapshot }) => snapshot.confirmations[0]?.status)).toEqual(['expiring', 'expired'])
})

test('F7 a session expires by the clock of its storage, not by that of the device', async () => {
  const storage = seeded({ expiresAt: 5000 })
  const chat = fakeChat()
  const session = await resume({ ...storage, now: () => 4999 })
  expect((await session.createConfirmation({ chat }).approve('confirm-1', ID)).status).toBe('approved')
  expect(storage.read(ID)?.updatedAt).toBe('1970-01-01T00:00:04.999Z')
})

test('two coordinators of one session do not overwrite each other', async () => {
  const { storage, session } = createStored()
  const [one, two] = [
    session.createConfirmation({ chat: fakeChat() }),
    session.createConfirmation({ chat: fakeChat() }),
  ]
  await Promise.all([one.propose(REFUND), two.propose(REFUND)])
  await one.propose(REFUND)
  expect(storage.read(ID)?.confirmations).toHaveLength(3)
  expect(one.getSnapshot()).toBe(two.getSnapshot())
  expect(session.getConfirmations()).toHaveLength(3)
})

test('G2 a proposal that could not be stored leaves nothing that could run later', async () => {
  const storage = createMemorySessionStorage()
  const failure = new Error('disk full')
  const { session } = createStored({ ...storage, save: () => Promise.reject(failure) })
  let runs = 0
  const chat = controllerWith({ execute: () => `${++runs}` })
  const coordinator = session.createConfirmation({ chat, createId: () => 'one' })
  expect(await rejected(coordinator.propose(REFUND))).toBe(failure)
  expect(coordinator.getSnapshot()).toEqual([])
  expect(await rejected(coordinator.approve('confirm-one', ID))).toBeInstanceOf(ConfigError)
  const call = chat.getState().messages.flatMap(({ toolCalls = [] }) => toolCalls)
  expect(call).toMatchObject([{ id: 'app-one', status: 'error' }])
  await chat.approve('app-one')
  expect(runs).toBe(0)
})

test('G2 a proposal whose denial fails too reports what went wrong first', async () => {
  const { session } = createStored({
    ...createMemorySessionStorage(),
    save: () => Promise.reject(new Error('disk full')),
  })
  const chat = fakeChat()
  chat.failNext = new Error('denial')
  expect(await rejected(session.createConfirmation({ chat }).propose(REFUND))).toMatchObject({ message: 'disk full' })
})

test('a record shows while it is proposed, and a decision on it waits until it is stored', async () => {
  const { storage, session } = createStored()
  const chat = fakeChat()
  let found: ActionConfirmation | undefined
  let decided: Promise<ActionConfirmation> | undefined
  const coordinator = session.createConfirmation({
    createId: () => 'one',
    chat: {
      ...chat,
      proposeToolCall: async (call) => {
        found = coordinator.getByToolCall(call.id)
        decided = coordinator.approve('confirm-one', ID)
        return chat.proposeToolCall(call)
      },
    },
  })
  await coordinator.propose(REFUND)
  expect(found).toMatchObject({ token: 'confirm-one', status: 'pending' })
  expect((await decided)?.status).toBe('approved')
  expect(storage.saves.map(({ snapshot }) => snapshot.confirmations[0]?.status)).toEqual([
    'pending',
    'approving',
    'approved',
  ])
})

test('a decision on a record whose proposal fails goes with it', async () => {
  const { session } = createStored()
  const chat = fakeChat()
  let decided: Promise<unknown> | undefined
  const coordinator = session.createConfirmation({
    createId: () => 'one',
    chat: {
      ...chat,
      proposeToolCall: async () => {
        decided = rejected(coordinator.approve('confirm-one', ID))
        throw new Error('forbidden')
      },
    },
  })
  await rejected(coordinator.propose(REFUND))
  expect(await decided).toMatchObject({ message: 'forbidden' })
  expect(chat.calls).toEqual([])
  expect(session.getConfirmations()).toEqual([])
})

test('K6 an outcome that was recorded although the cursor had moved is a success', async () => {
  const storage = seeded()
  const session = await resume({
    ...storage,
    save: (asked, expectedCursor) => {
      if (asked.confirmations[0]?.status !== 'approved') return storage.save(asked, expectedCursor)
      storage.corrupt(ID, JSON.stringify({ ...asked, cursor: asked.cursor + 5 }))
      return false
    },
  })
  expect((await session.createConfirmation({ chat: fakeChat() }).approve('confirm-1', ID)).status).toBe('approved')
  expect(session.getCursor()).toBe(storage.read(ID)?.cursor)
})

test('K6 an outcome is stored over what others saved while it ran', async () => {
  const storage = seeded()
  const [a, b] = await Promise.all([resume(storage), resume(storage)])
  const chat = fakeChat()
  const busy = {
    ...chat,
    approve: async (id: string) => {
      await chat.approve(id)
      await rejected(b.persist())
      await b.persist()
    },
  }
  expect((await a.createConfirmation({ chat: busy }).approve('confirm-1', ID)).status).toBe('approved')
  expect(statusIn(storage)).toBe('approved')
})

test('K6 an outcome does not overwrite what a person settled meanwhile', async () => {
  const storage = seeded()
  const session = await resume(storage)
  const chat = fakeChat()
  const overtaken = {
    ...chat,
    approve: async () => {
      const row = storage.read(ID)
      storage.corrupt(ID, JSON.stringify({ ...row, cursor: 9, confirmations: [{ ...stored(), status: 'rejected' }] }))
    },
  }
  const coordinator = session.createConfirmation({ chat: overtaken })
  expect(await rejected(coordinator.approve('confirm-1', ID))).toMatchObject({
    name: 'SessionConflictError',
    record: { status: 'rejected' },
  })
  expect(statusIn(storage)).toBe('rejected')
})

test.each(['close', 'abort'] as const)('K6 a decision that runs is settled also after %s', async (ending) => {
  const storage = seeded()
  const owner = new AbortController()
  const session = await resumeChatSession(chatDefinition(), { sessionId: ID, storage, signal: owner.signal })
  const chat = fakeChat()
  const slow = {
    ...chat,
    approve: async (id: string) => {
      if (ending === 'close') session.close()
      else owner.abort()
      await chat.approve(id)
    },
  }
  expect((await session.createConfirmation({ chat: slow }).approve('confirm-1', ID)).status).toBe('approved')
  expect(statusIn(storage)).toBe('approved')
})

test('R10 after a claim that rejected, only its own token is back where it was', async () => {
  const storage = seeded()
  const second = stored({ token: 'confirm-2', toolCallId: 'app-2', expiresAt: Date.now() + 60_000 })
  const first = storage.read(ID)?.confirmations[0]
  storage.corrupt(ID, JSON.stringify(snapshot({ confirmations: [first, second] as Confirmation[] })))
  const chat = fakeChat()
  const session = await resume({
    ...storage,
    save: (asked, expectedCursor) => {
      if (asked.confirmations[0]?.status === 'approving') throw new RejoinError('claim-queued', 'queued')
      return storage.save(asked, expectedCursor)
    },
  })
  const coordinator = session.createConfirmation({ chat })
  const results = await Promise.allSettled([coordinator.approve('confirm-1', ID), coordinator.approve('confirm-2', ID)])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  expect(chat.calls).toEqual(['approve app-2'])
  expect(storage.saves.map(({ snapshot }) => snapshot.confirmations.map(({ status }) => status))).toEqual([
    ['pending', 'approving'],
    ['pending', 'approved'],
  ])
  expect(session.getConfirmations()).toMatchObject([{ status: 'pending', queued: 'approving' }, { status: 'approved' }])
})

test('a queued decision shows on its record until it is decided, and is never stored', async () => {
  const storage = seeded()
  let offline = true
  const session = await resume({
    ...storage,
    save: (...args) => {
      if (offline) throw new RejoinError('claim-queued', 'queued')
      return storage.save(...args)
    },
  })
  let heard = 0
  session.subscribe(() => heard++)
  const coordinator = session.createConfirmation({ chat: fakeChat() })
  expect(await rejected(coordinator.reject('confirm-1', ID))).toMatchObject({ code: 'claim-queued' })
  expect(heard).toBeGreaterThan(0)
  expect(coordinator.getByToolCall('app-1')).toMatchObject({ status: 'pending', queued: 'rejecting' })
  offline = false
  const approved = await coordinator.approve('confirm-1', ID)
  expect(approved.status).toBe('approved')
  expect(approved).not.toHaveProperty('queued')
  expect(JSON.stringify(storage.saves)).not.toContain('queued')
})

test('an observer of confirmations hears of stored changes only, and what it throws goes nowhere', async () => {
  const storage = createMemorySessionStorage()
  const seen: string[][] = []
  let failing = false
  const { session } = createStored(
    { ...storage, save: (...args) => (failing ? Promise.reject(new Error('disk')) : storage.save(...args)) },
    {
      onConfirmationChange: (records) => {
        seen.push(records.map(({ status }) => status))
        throw new Error('observer')
      },
    },
  )
  const coordinator = session.createConfirmation({ chat: fakeChat() })
  const { token } = await coordinator.propose(REFUND)
  await session.persist()
  await coordinator.approve(token, ID)
  failing = true
  await rejected(coordinator.propose(REFUND))
  expect(seen).toEqual([['pending'], ['approving'], ['approved']])
})

test('a host that keeps confirmations itself is told of each change, and a change that it refuses is taken back', async () => {
  const told: string[][] = []
  let refusing = false
  const chat = fakeChat()
  const coordinator = own({
    chat,
    onChange: (records) => {
      if (refusing) throw new Error('refused')
      told.push(records.map(({ status }) => status))
    },
  })
  const { token } = await coordinator.propose(REFUND)
  refusing = true
  await rejected(coordinator.approve(token, ID))
  await rejected(coordinator.propose(REFUND))
  expect(coordinator.getSnapshot().map(({ status }) => status)).toEqual(['pending'])
  refusing = false
  await coordinator.approve(token, ID)
  expect(told).toEqual([['pending'], ['approving'], ['approved']])
})

test('a host that claims each change itself is asked for both steps, and its no ends the decision', async () => {
  const asked: string[] = []
  const chat = fakeChat()
  const coordinator = own({
    chat,
    initialRecords: [stored({ expiresAt: Date.now() + 60_000 }), stored({ token: 'confirm-2', toolCallId: 'app-2' })],
    claimStatus: ({ token }, status) => {
      asked.push(`${token} ${status}`)
      return token === 'confirm-1'
    },
  })
  await coordinator.approve('confirm-1', ID)
  expect(await rejected(coordinator.reject('confirm-2', ID))).toBeInstanceOf(ConfigError)
  expect(asked).toEqual(['confirm-1 approving', 'confirm-1 approved', 'confirm-2 rejecting'])
  expect(chat.calls).toEqual(['approve app-1'])
})

test('C7 a call that belongs to another confirmation is refused, and stays as it is', async () => {
  const { session } = createStored()
  const chat = fakeChat()
  const same = {
    ...chat,
    proposeToolCall: (call: Parameters<typeof chat.proposeToolCall>[0]) =>
      chat.proposeToolCall({ ...call, id: 'call-1' }),
  }
  const coordinator = session.createConfirmation({ chat: same })
  await coordinator.propose(REFUND)
  expect(await rejected(coordinator.propose(REFUND))).toBeInstanceOf(ConfigError)
  expect(chat.calls).toEqual([])
  expect(session.getConfirmations()).toMatchObject([{ toolCallId: 'call-1', status: 'pending' }])
})

test('a queued mark ends with the decision that took its place', async () => {
  const storage = seeded()
  let offline = true
  const session = await resume({
    ...storage,
    save: (...args) => {
      if (offline) throw new RejoinError('claim-queued', 'queued')
      return storage.save(...args)
    },
  })
  const coordinator = session.createConfirmation({ chat: fakeChat() })
  await rejected(coordinator.reject('confirm-1', ID))
  offline = false
  await coordinator.approve('confirm-1', ID)
  storage.corrupt(ID, JSON.stringify({ ...storage.read(ID), cursor: 9, confirmations: [stored()] }))
  await rejected(session.persist())
  expect(session.getConfirmations()[0]).not.toHaveProperty('queued')
})

test('K3 a decision against one that is on its way is refused at once, and says what is on its way', async () => {
  const storage = seeded()
  let asked = 0
  const session = await resume({
    ...storage,
    save: async (snapshot) => {
      asked++
      storage.corrupt(ID, JSON.stringify({ ...storage.read(ID), cursor: snapshot.cursor }))
      return false
    },
    claims: {
      get: () => CLAIMS,
      subscribe: () => () => undefined,
      run: () => () => undefined,
    },
  })
  const attempt = session.createConfirmation({ chat: fakeChat() }).reject('confirm-1', ID)
  expect(await rejected(attempt)).toMatchObject({
    name: 'SessionConflictError',
    record: { status: 'pending', queued: 'approving' },
  })
  expect(asked).toBe(1)
})

const CLAIMS: readonly QueuedClaim[] = [
  {
    sessionId: ID,
    token: 'confirm-1',
    toolCallId: 'app-1',
    want: 'approving',
    state: 'sent',
    attempt: 0,
    claimId: 'claim-1',
    deviceAt: 0,
  },
]

test.each(['every-change', 'finalized'] as const)(
  'R8 H13 a call is stored before its record, under %s',
  async (regime) => {
    const log: string[] = []
    const storage = createMemorySessionStorage()
    const memory = {
      load: () => [],
      save: (messages: readonly Message[]) => {
        const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls)
        log.push(`messages ${calls.map(({ id, status }) => `${id} ${status}`)}`)
      },
    }
    const tools = [{ name: 'refund', requiresConfirmation: true, execute: () => 'done' }]
    const chat = createChatController({ adapter: scriptedAdapter(), tools, memory, regime })
    const session = createChatSession(chatDefinition({ chat: { adapter: scriptedAdapter(), memory } }), {
      sessionId: ID,
      storage: {
        ...storage,
        save: (...args) => {
          log.push('record')
          return storage.save(...args)
        },
      },
    })
    await session.createConfirmation({ chat, createId: () => 'one' }).propose(REFUND)
    expect(log.slice(-2)).toEqual(['messages app-one requires_confirmation', 'record'])
  },
)

test('R8 a proposal whose message could not be stored leaves nothing', async () => {
  const memory = { load: () => [], save: () => Promise.reject(new Error('disk full')) }
  const storage = createMemorySessionStorage()
  const definition = chatDefinition({ chat: { adapter: scriptedAdapter(), memory } })
  const chat = {
    ...fakeChat(),
    messages: [],
    getState() {
      return { messages: this.messages }
    },
  }
  const coordinator = createChatSession(definition, { sessionId: ID, storage }).createConfirmation({ chat })
  expect(await rejected(coordinator.propose(REFUND))).toMatchObject({ message: 'disk full' })
  expect(storage.saves).toEqual([])
  expect(chat.calls).toMatchObject([expect.stringMatching(/^deny /)])
})
