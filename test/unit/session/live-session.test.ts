import { createChatController } from '@agentskit/core'
import { expect, test } from 'vitest'
import type { ChatSession } from '../../../src/session/chat-session.ts'
import { createChatSession } from '../../../src/session/create-chat-session.ts'
import { resumeChatSession } from '../../../src/session/resume-chat-session.ts'
import { confirmation, snapshot } from '../contract/snapshots.ts'
import { asked, chatDefinition, fakeChat, read, rejected, scriptedAdapter, showingChat, user } from './chat-fixtures.ts'
import { createLiveWorld, type LiveDevice, type LiveWorld } from './live-session-storage.ts'

const ID = 'session-1'
const TOKEN = 'confirm-1'

/** A world with one stored session that has one pending confirmation, of the call `app-1`. */
function seeded(): LiveWorld {
  const world = createLiveWorld()
  const pending = confirmation({ expiresAt: Date.now() + 60_000 })
  world.stored.corrupt(ID, JSON.stringify(snapshot({ confirmations: [pending] })))
  return world
}

function open(device: LiveDevice, signal?: AbortSignal): Promise<ChatSession> {
  return resumeChatSession(chatDefinition(), { sessionId: ID, storage: device.tab(), ...(signal && { signal }) })
}

/** Waits for what the session has in its queue; this step itself saves nothing. */
async function settled(session: ChatSession): Promise<void> {
  for (let pass = 0; pass < 3; pass++) await session.releaseTurn('no-such-turn', 'completed')
}

function statusIn(world: LiveWorld) {
  return world.stored.read(ID)?.confirmations.find((each) => each.token === TOKEN)?.status
}

test('F43 E2E 1 a session follows what other tabs and devices store, and tells its subscribers', async () => {
  const world = seeded()
  const laptop = world.device()
  const [a, b, phone] = await Promise.all([open(laptop), open(laptop), open(world.device())])
  let heard = 0
  b.subscribe(() => heard++)
  await read(a.chat.adapter.createSource(asked(user('/start'))))
  await settled(a)
  for (const session of [b, phone]) {
    await settled(session)
    expect(session.getConversationSnapshot()?.state).toBe('active')
    expect(session.getCursor()).toBe(a.getCursor())
  }
  expect(heard).toBeGreaterThan(0)
  await b.persist()
  await settled(a)
  await a.persist()
})

test('F15 a decision of another device shows while it runs and when it is done', async () => {
  const world = seeded()
  const [a, b] = [await open(world.device()), await open(world.device())]
  const seen: (string | undefined)[] = []
  b.subscribe(() => seen.push(b.getConfirmations()[0]?.status))
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const chat = { ...fakeChat(), approve: () => held }
  const running = a.createConfirmation({ chat }).approve(TOKEN, ID)
  while (b.getConfirmations()[0]?.status !== 'approving') await settled(b)
  release()
  await running
  await settled(b)
  expect(seen).toContain('approving')
  expect(b.getConfirmations()[0]?.status).toBe('approved')
  const other = fakeChat()
  expect((await b.createConfirmation({ chat: other }).approve(TOKEN, ID)).status).toBe('approved')
  expect(other.calls).toEqual([])
})

test('G8 F43 a session that is deleted elsewhere ends by itself and does not come back', async () => {
  const world = seeded()
  const device = world.device()
  const [a, b] = [await open(device), await open(device)]
  let heard = 0
  b.subscribe(() => heard++)
  await device.tab().delete?.(ID)
  await rejected(settled(b))
  expect(heard).toBeGreaterThan(0)
  for (const session of [a, b]) {
    expect(session.getProblem()).toMatchObject({ code: 'deleted' })
    await read(session.chat.adapter.createSource(asked(user('/start'))))
    expect(await rejected(session.persist())).toMatchObject({ code: 'deleted' })
  }
  expect(world.stored.read(ID)).toBeUndefined()
  expect(world.watchers()).toBe(0)
})

test('a session that was deleted and made again is taken over as it is, and nothing of the old one is stored', async () => {
  const world = seeded()
  const tab = world.device().tab()
  let failing = false
  const save: typeof tab.save = (...args) => {
    if (failing) throw new Error('disk')
    return tab.save(...args)
  }
  const session = await resumeChatSession(chatDefinition(), { sessionId: ID, storage: { ...tab, save } })
  await session.persist()
  failing = true
  await read(session.chat.adapter.createSource(asked(user('/start'))))
  await settled(session)
  failing = false
  world.stored.corrupt(ID, JSON.stringify(snapshot({ cursor: 0 })))
  world.decide(ID, TOKEN, 'pending')
  await settled(session)
  expect(session.getCursor()).toBe(1)
  expect(session.getConversationSnapshot()?.state).toBe('idle')
  expect(session.getConfirmations()).toEqual([])
  expect(world.stored.read(ID)?.conversation).toBeUndefined()
})

test('nothing outlives its owner: closing, aborting and failing to resume leave no watcher', async () => {
  const world = seeded()
  const device = world.device()
  const owner = new AbortController()
  const [closed, aborted] = [await open(device), await open(device, owner.signal)]
  createChatSession(chatDefinition(), { sessionId: ID, storage: device.tab(), signal: AbortSignal.abort() })
  await rejected(resumeChatSession(chatDefinition({ id: 'other' }), { sessionId: ID, storage: device.tab() }))
  expect(world.watchers()).toBe(2)
  let heard = 0
  closed.close()
  owner.abort()
  for (const session of [closed, aborted]) session.subscribe(() => heard++)
  expect(world.watchers()).toBe(0)
  world.decide(ID, TOKEN, 'approving')
  await Promise.resolve()
  expect(heard).toBe(0)
  expect(aborted.getConfirmations()[0]?.status).toBe('pending')
})

test('what was stored while a session was being resumed is not missed', async () => {
  const world = seeded()
  const tab = world.device().tab()
  const storage = {
    ...tab,
    load: async (id: string) => {
      const row = await tab.load(id)
      if (statusIn(world) === 'pending') world.decide(ID, TOKEN, 'rejected')
      return row
    },
  }
  const session = await resumeChatSession(chatDefinition(), { sessionId: ID, storage })
  await settled(session)
  expect(session.getConfirmations()[0]?.status).toBe('rejected')
})

test('a read that fails while following is reported, and the next change is followed again', async () => {
  const world = seeded()
  const tab = world.device().tab()
  const failure = new Error('read error')
  let failing = false
  const load: typeof tab.load = (id, signal) => {
    if (failing) throw failure
    return tab.load(id, signal)
  }
  const session = await resumeChatSession(chatDefinition(), { sessionId: ID, storage: { ...tab, load } })
  await settled(session)
  failing = true
  world.decide(ID, TOKEN, 'approving')
  await settled(session)
  expect(session.getProblem()).toBe(failure)
  failing = false
  world.decide(ID, TOKEN, 'approved')
  await settled(session)
  expect(session.getProblem()).toBeUndefined()
  expect(session.getConfirmations()[0]?.status).toBe('approved')
})

test('E2E 6 G11 a decision made offline shows as queued in every tab, and runs once when it wins', async () => {
  const world = seeded()
  const device = world.device()
  const [a, b] = [await open(device), await open(device)]
  const [chatA, chatB] = [showingChat(), showingChat()]
  for (const chat of [chatA, chatB]) chat.set('app-1', 'requires_confirmation')
  const coordinator = a.createConfirmation({ chat: chatA })
  b.createConfirmation({ chat: chatB })
  device.goOffline()
  let heard = 0
  b.subscribe(() => heard++)
  expect(await rejected(coordinator.approve(TOKEN, ID))).toMatchObject({ code: 'claim-queued' })
  expect(await rejected(coordinator.approve(TOKEN, ID))).toMatchObject({ code: 'claim-queued' })
  expect(heard).toBeGreaterThan(0)
  for (const session of [a, b]) {
    expect(session.getConfirmations()).toMatchObject([{ status: 'pending', queued: 'approving' }])
  }
  expect(device.claims()).toHaveLength(1)
  await device.goOnline()
  for (const session of [a, b]) {
    await settled(session)
    expect(session.getConfirmations()[0]).toMatchObject({ status: 'approved' })
    expect(session.getConfirmations()[0]).not.toHaveProperty('queued')
  }
  expect([...chatA.calls, ...chatB.calls]).toEqual(['approve app-1'])
  expect(statusIn(world)).toBe('approved')
})

test('E2E 4 F1 of two devices that decided offline one runs, and the other is told how it stands', async () => {
  for (const second of ['approve', 'reject'] as const) {
    const world = seeded()
    const [laptop, phone] = [world.device(), world.device()]
    const [a, b] = [await open(laptop), await open(phone)]
    const [chatA, chatB] = [fakeChat(), fakeChat()]
    const [left, right] = [a.createConfirmation({ chat: chatA }), b.createConfirmation({ chat: chatB })]
    laptop.goOffline()
    phone.goOffline()
    await rejected(left.approve(TOKEN, ID))
    await rejected(second === 'approve' ? right.approve(TOKEN, ID) : right.reject(TOKEN, ID))
    await phone.goOnline()
    await laptop.goOnline()
    await settled(a)
    expect(a.getConfirmations()[0]).toMatchObject({ status: second === 'approve' ? 'approved' : 'rejected' })
    expect(a.getConfirmations()[0]).not.toHaveProperty('queued')
    expect(chatA.calls).toEqual([])
    expect(chatB.calls).toEqual([second === 'approve' ? 'approve app-1' : 'deny app-1'])
    const next = await left.propose({ name: 'refund', input: {} })
    expect((await left.approve(next.token, ID)).status).toBe('approved')
  }
})

test('a queued decision may be replaced by the other one while it waits', async () => {
  const world = seeded()
  const device = world.device()
  const session = await open(device)
  const chat = fakeChat()
  const coordinator = session.createConfirmation({ chat })
  device.goOffline()
  await rejected(coordinator.approve(TOKEN, ID))
  await rejected(coordinator.reject(TOKEN, ID))
  expect(session.getConfirmations()).toMatchObject([{ queued: 'rejecting' }])
  await device.goOnline()
  expect(chat.calls).toEqual(['deny app-1'])
  expect(statusIn(world)).toBe('rejected')
})

test('K7 a claim that is won later runs in a chat that has the call, not in one that was never shown', async () => {
  const world = seeded()
  const device = world.device()
  const session = await open(device)
  const [shown, discarded] = [showingChat(), showingChat()]
  shown.set('app-1', 'requires_confirmation')
  session.createConfirmation({ chat: shown })
  const coordinator = session.createConfirmation({ chat: discarded })
  device.goOffline()
  expect(await rejected(coordinator.approve(TOKEN, ID))).toMatchObject({ code: 'nothing-to-run' })
  await rejected(session.createConfirmation({ chat: fakeChat() }).approve(TOKEN, ID))
  await device.goOnline()
  expect(shown.calls).toEqual(['approve app-1'])
  expect(discarded.calls).toEqual([])
})

test('K7 G3 a claim that is won later and finds no call says so, and the record is pending again', async () => {
  const world = seeded()
  const device = world.device()
  const session = await open(device)
  const chat = showingChat()
  chat.set('app-1', 'requires_confirmation')
  const coordinator = session.createConfirmation({ chat })
  device.goOffline()
  await rejected(coordinator.approve(TOKEN, ID))
  chat.set('app-1', 'complete')
  await device.goOnline()
  await settled(session)
  expect(chat.calls).toEqual([])
  expect(session.getConfirmations()).toMatchObject([{ status: 'pending' }])
})

test('K7 G2 a claim that is won later and fails is left to a person', async () => {
  const world = seeded()
  const device = world.device()
  const session = await open(device)
  const chat = fakeChat()
  const coordinator = session.createConfirmation({ chat })
  device.goOffline()
  await rejected(coordinator.approve(TOKEN, ID))
  chat.failNext = new Error('network lost')
  await device.goOnline()
  await settled(session)
  expect(device.claims()).toMatchObject([{ state: 'attention' }])
  expect(session.getConfirmations()).toMatchObject([{ status: 'approving' }])
  expect((await coordinator.approve(TOKEN, ID)).status).toBe('approving')
  expect(chat.calls).toHaveLength(1)
})

test('K7 a page without a chat for the session, or whose chat ended, runs nothing', async () => {
  const world = seeded()
  const device = world.device()
  const [session, other] = [await open(device), await open(device)]
  const end = new AbortController()
  const chat = fakeChat()
  const coordinator = session.createConfirmation({ chat, signal: end.signal })
  other.createConfirmation({ chat })
  device.goOffline()
  await rejected(coordinator.approve(TOKEN, ID))
  end.abort()
  other.close()
  await device.goOnline()
  expect(chat.calls).toEqual([])
  expect(device.claims()).toMatchObject([{ state: 'won' }])
})

test('G3 a claim that ran nothing is given back, and may be decided again', async () => {
  const world = seeded()
  const session = await open(world.device())
  const chat = showingChat()
  chat.set('app-1', 'requires_confirmation')
  let working = false
  const approve: typeof chat.approve = async (id) => {
    if (working) await chat.approve(id)
  }
  const coordinator = session.createConfirmation({ chat: { ...chat, approve } })
  expect(await rejected(coordinator.approve(TOKEN, ID))).toMatchObject({ code: 'nothing-to-run' })
  await settled(session)
  expect(session.getConfirmations()).toMatchObject([{ status: 'pending' }])
  working = true
  expect((await coordinator.approve(TOKEN, ID)).status).toBe('approved')
  expect(chat.calls).toEqual(['approve app-1'])
})

test('G3 under the finalized regime a call that was loaded from memory is not run, and not called approved', async () => {
  const world = createLiveWorld()
  const device = world.device()
  const memory = new Map<string, unknown[]>()
  const chatMemory = {
    load: () => (memory.get(ID) ?? []) as never[],
    save: (messages: unknown[]) => void memory.set(ID, messages),
  }
  let runs = 0
  const tools = [{ name: 'refund', requiresConfirmation: true, execute: () => `${++runs}` }]
  const config = { adapter: scriptedAdapter(), tools, memory: chatMemory, regime: 'finalized' as const }
  const first = await open(device)
  const proposing = createChatController({ ...config, regime: 'every-change' })
  const { token } = await first.createConfirmation({ chat: proposing }).propose({ name: 'refund', input: {} })
  const second = await open(device)
  const hydrated = createChatController(config)
  await new Promise((resolve) => setImmediate(resolve))
  expect(hydrated.getState().messages.flatMap(({ toolCalls = [] }) => toolCalls)).toHaveLength(1)
  const attempt = second.createConfirmation({ chat: hydrated }).approve(token, ID)
  expect(await rejected(attempt)).toMatchObject({ code: 'nothing-to-run' })
  await settled(second)
  expect(second.getConfirmations()).toMatchObject([{ status: 'pending' }])
  expect(runs).toBe(0)
})
