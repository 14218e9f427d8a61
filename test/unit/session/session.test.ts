import { expect, test } from 'vitest'
import type { Snapshot } from '../../../src/contract/session-snapshot.ts'
import { RejoinError } from '../../../src/errors.ts'
import type { ChatSession } from '../../../src/session/chat-session.ts'
import { ConfigError } from '../../../src/session/config-error.ts'
import { type ChatSessionOptions, createChatSession } from '../../../src/session/create-chat-session.ts'
import type { ChatDefinition } from '../../../src/session/definition.ts'
import { resolveChatSession } from '../../../src/session/resolve-chat-session.ts'
import { resumeChatSession } from '../../../src/session/resume-chat-session.ts'
import { SessionConflictError } from '../../../src/session/session-conflict-error.ts'
import { confirmation, decision, snapshot } from '../contract/snapshots.ts'
import { asked, chatDefinition, fakeChat, read, rejected, user } from './chat-fixtures.ts'
import { createMemorySessionStorage } from './memory-session-storage.ts'

const ID = 'session-1'

function create(options: ChatSessionOptions = {}, definition: ChatDefinition = chatDefinition()): ChatSession {
  return createChatSession(definition, { sessionId: ID, ...options })
}

function resume(storage: NonNullable<ChatSessionOptions['storage']>, definition = chatDefinition()) {
  return resumeChatSession(definition, { sessionId: ID, storage })
}

async function say(session: ChatSession, ...messages: Parameters<typeof asked>) {
  return read(session.chat.adapter.createSource(asked(...messages)))
}

test('S1 a resumed session reports the advanced state and replays the same answer for the same message', async () => {
  const storage = createMemorySessionStorage()
  let answers = 0
  const conversation = {
    initial: 'idle',
    states: { idle: { on: { start: 'active' } }, active: {} },
    routes: [{ id: 'start', event: 'start', match: () => true, response: () => `Answer ${++answers}` }],
  }
  const first = create({ storage }, chatDefinition({ conversation }))
  await say(first, user('/start'))
  await first.persist()
  const resumed = await resume(storage, chatDefinition({ conversation }))
  expect(resumed.getConversationSnapshot()?.state).toBe('active')
  expect(await say(resumed, user('/start'))).toContainEqual({ type: 'text', content: 'Answer 1' })
})

test('S2 decisions that do not lead from the initial state to the stored one refuse to resume', async () => {
  const chains = [
    { state: 'active', decisions: [decision({ fromState: 'active' })] },
    { state: 'idle', decisions: [decision()] },
    { state: 'done', decisions: [decision(), decision({ messageId: 'user-2' })] },
    { state: 'active', decisions: [decision({ routeId: 'unknown' })] },
    { state: 'active', decisions: [decision({ routeId: 'finish' })] },
    { state: 'unknown', decisions: [] },
  ]
  for (const conversation of chains) {
    const storage = { load: () => snapshot({ conversation }), save: () => true }
    const error = await rejected(resume(storage))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error).toMatchObject({ message: expect.stringContaining('incompatible') })
  }
})

test('S3 editing a deterministic turn into an agentic one takes the decision out of storage', async () => {
  const storage = createMemorySessionStorage()
  const session = create({ storage })
  await say(session, user('/start'))
  await session.persist()
  await say(session, user('changed'))
  await session.persist()
  expect(storage.read(ID)?.conversation).toEqual({ state: 'idle', decisions: [] })
  expect((await resume(storage)).getConversationSnapshot()?.state).toBe('idle')
})

test('S4 what is corrupt, of another version, session, definition or revision refuses to resume', async () => {
  const stored: [unknown, string][] = [
    [{ version: 99 }, 'version'],
    ['not json', 'valid'],
    [{ ...snapshot(), cursor: -1 }, 'valid'],
    [snapshot({ sessionId: 'other' }), 'incompatible'],
    [snapshot({ definitionId: 'other' }), 'incompatible'],
    [snapshot({ definitionRevision: 2 }), 'incompatible'],
  ]
  for (const [row, text] of stored) {
    const error = await rejected(resume({ load: () => row, save: () => true }))
    expect(error).toBeInstanceOf(ConfigError)
    expect(error).toMatchObject({ code: 'AK_CONFIG_INVALID', message: expect.stringContaining(text) })
  }
})

test('S4 a stored conversation needs a definition that has one, and one may be added later', async () => {
  const { conversation: _, ...plain } = chatDefinition()
  const stored = snapshot({ conversation: { state: 'idle', decisions: [] } })
  const error = await rejected(resume({ load: () => stored, save: () => true }, plain))
  expect(error).toMatchObject({ message: expect.stringContaining('incompatible') })
  const session = await resume({ load: () => snapshot(), save: () => true })
  expect(session.getConversationSnapshot()?.state).toBe('idle')
})

test('S4 undefined, null and version 0 resume, and JSON text does', async () => {
  for (const none of [undefined, null]) {
    expect((await resume({ load: () => none, save: () => true })).getCursor()).toBe(0)
  }
  const { protocol: _, ...v0 } = snapshot({ cursor: 7 })
  for (const row of [{ ...v0, version: 0 }, JSON.stringify(snapshot({ cursor: 7 }))]) {
    expect((await resume({ load: () => row, save: () => true })).getCursor()).toBe(7)
  }
})

test('S4 a load that rejects rejects the resume unchanged', async () => {
  const failure = new Error('disk')
  const load = () => {
    throw failure
  }
  expect(await rejected(resume({ load, save: () => true }))).toBe(failure)
})

test('E7 the fixture that all shells share resumes', async () => {
  const fixture = {
    ...snapshot({ sessionId: ID, definitionId: 'protocol-session', updatedAt: '2026-07-11T00:00:00.000Z' }),
    conversation: { state: 'complete', decisions: [] },
  }
  const definition = chatDefinition({
    id: 'protocol-session',
    conversation: { initial: 'complete', states: { complete: {} }, routes: [] },
  })
  const session = await resume({ load: () => fixture, save: () => true }, definition)
  expect(session.getConversationSnapshot()?.state).toBe('complete')
})

test('S5 a session that was prepared for another definition or revision is refused', () => {
  const definition = chatDefinition()
  const session = create()
  expect(resolveChatSession(definition, session)).toBe(session)
  expect(resolveChatSession(definition).definitionId).toBe('support')
  expect(() => resolveChatSession(chatDefinition({ id: 'other' }), session)).toThrow(ConfigError)
  expect(() => resolveChatSession(chatDefinition({ revision: 2 }), session)).toThrow(ConfigError)
})

test('S4 ids and revisions under which nothing could be stored are refused at once', () => {
  for (const id of ['', 'two words', 'a/b', 'x'.repeat(129)]) {
    expect(() => createChatSession(chatDefinition({ id }))).toThrow(ConfigError)
    expect(() => createChatSession(chatDefinition(), { sessionId: id })).toThrow(ConfigError)
  }
  for (const revision of [0, -1, 1.5, Number.NaN, 2 ** 53]) {
    expect(() => createChatSession(chatDefinition({ revision }))).toThrow(ConfigError)
  }
})

test('F12 default session ids do not repeat, and fit however long the id of the definition is', () => {
  const ids = Array.from({ length: 100 }, () => createChatSession(chatDefinition()).sessionId)
  expect(new Set(ids).size).toBe(100)
  expect(ids[0]).toMatch(/^support:[0-9a-f]{32}$/)
  expect(createChatSession(chatDefinition({ id: 'x'.repeat(128) })).sessionId).toHaveLength(128)
  expect(createChatSession(chatDefinition(), { newId: () => 'mine' }).sessionId).toBe('support:mine')
})

test('a session that is created from a snapshot goes on from it', async () => {
  const storage = createMemorySessionStorage()
  storage.corrupt(ID, JSON.stringify(snapshot({ cursor: 4 })))
  const session = createChatSession(chatDefinition(), { snapshot: snapshot({ cursor: 4 }), storage })
  expect(session.sessionId).toBe(ID)
  await session.persist()
  expect(storage.read(ID)?.cursor).toBe(5)
  expect(() => create({ snapshot: snapshot({ cursor: -1 }) })).toThrow(ConfigError)
  expect(() => create({ snapshot: snapshot({ sessionId: 'other' }) })).toThrow('incompatible')
})

test('N calls of persist are N saves with consecutive cursors, and the first one creates', async () => {
  const storage = createMemorySessionStorage()
  const session = create({ storage })
  await Promise.all([session.persist(), session.persist(), session.persist()])
  expect(storage.saves.map(({ snapshot: { cursor }, expectedCursor }) => [cursor, expectedCursor])).toEqual([
    [1, undefined],
    [2, 1],
    [3, 2],
  ])
  expect(session.getCursor()).toBe(3)
})

test('a persist stores the state of the moment when its turn comes', async () => {
  const storage = createMemorySessionStorage()
  const session = create({ storage })
  const first = session.persist()
  await say(session, user('/start'))
  await first
  expect(storage.read(ID)?.conversation?.state).toBe('active')
})

test('a save that throws leaves cursor and queue as they were, and the next one works', async () => {
  const storage = createMemorySessionStorage()
  const failure = new Error('disk full')
  let failing = true
  const session = create({
    storage: {
      ...storage,
      save: (...args) => {
        if (failing) throw failure
        return storage.save(...args)
      },
    },
  })
  const [first, second] = [session.persist(), session.persist()]
  expect(await rejected(first)).toBe(failure)
  expect(await rejected(second)).toBe(failure)
  expect(session.getCursor()).toBe(0)
  failing = false
  await session.persist()
  expect(storage.read(ID)?.cursor).toBe(1)
})

test('without storage a persist only counts', async () => {
  const session = create()
  await session.persist()
  await session.persist()
  expect(session.getCursor()).toBe(2)
})

test('a created session does not read: its first save over a stored one is a conflict, the next one is not', async () => {
  const storage = createMemorySessionStorage()
  const other = create({ storage })
  await say(other, user('/start'))
  await other.persist()
  const { cursor } = storage.read(ID) as Snapshot
  const session = create({ storage })
  expect(await rejected(session.persist())).toBeInstanceOf(SessionConflictError)
  expect(session.getCursor()).toBe(cursor)
  expect(session.getConversationSnapshot()?.state).toBe('active')
  await session.persist()
  expect(storage.read(ID)?.cursor).toBe(cursor + 1)
})

test('F19 after a conflict a session stands on what is stored and saves again without a reload', async () => {
  const storage = createMemorySessionStorage()
  await create({ storage }).persist()
  const [a, b] = await Promise.all([resume(storage), resume(storage)])
  await say(b, user('/start'))
  await b.persist()
  const error = await rejected(a.persist())
  expect(error).toMatchObject({ name: 'SessionConflictError' })
  expect(a.getCursor()).toBe(b.getCursor())
  expect(a.getConversationSnapshot()?.state).toBe('active')
  await a.persist()
  await say(a, user('/start'), user('/finish', 'user-2'))
  await a.persist()
  expect(storage.read(ID)?.conversation?.state).toBe('done')
})

test('F19 steps of two sessions are both kept where one builds on the other', async () => {
  const storage = createMemorySessionStorage()
  await create({ storage }).persist()
  const [a, b] = await Promise.all([resume(storage), resume(storage)])
  await b.createConfirmation({ chat: fakeChat() }).propose({ name: 'refund', input: {} })
  await say(a, user('/start'))
  await settled(a)
  expect(storage.read(ID)).toMatchObject({ conversation: { state: 'active' }, confirmations: [{ action: 'refund' }] })
})

test('F19 where both went different ways the stored one stands, and ours counts again where it still fits', async () => {
  const storage = createMemorySessionStorage()
  await create({ storage }).persist()
  const [a, b] = await Promise.all([resume(storage), resume(storage)])
  await say(b, user('/start', 'theirs'))
  await settled(b)
  await say(a, user('/help', 'ours'))
  await settled(a)
  expect(storage.read(ID)?.conversation?.decisions.map(({ messageId }) => messageId)).toEqual(['theirs'])
  await say(a, user('/help', 'ours'), user('/start', 'theirs'), user('/finish', 'next'))
  await settled(a)
  expect(storage.read(ID)?.conversation).toMatchObject({
    state: 'done',
    decisions: [{ messageId: 'ours' }, { messageId: 'theirs' }, { messageId: 'next' }],
  })
})

/** Waits for the background saves: they are in the same queue as this one, which saves nothing. */
async function settled(session: ChatSession): Promise<void> {
  await session.releaseTurn('no-such-turn', 'completed')
}

test('background saves are made of the latest state, and none where nothing changed', async () => {
  const storage = createMemorySessionStorage()
  const session = create({ storage })
  session.chat.adapter.createSource(asked(user('/start')))
  session.chat.adapter.createSource(asked(user('/start'), user('/finish', 'user-2')))
  await settled(session)
  expect(storage.saves).toHaveLength(1)
  expect(storage.read(ID)?.conversation?.state).toBe('done')
  session.chat.adapter.createSource(asked(user('/start'), user('/finish', 'user-2')))
  await settled(session)
  expect(storage.saves).toHaveLength(1)
})

test('a turn that is taken while a save is under way is not lost by it', async () => {
  const storage = createMemorySessionStorage()
  let meanwhile = () => {}
  const session = create({
    storage: {
      ...storage,
      save: (...args) => {
        meanwhile()
        return storage.save(...args)
      },
    },
  })
  meanwhile = () => {
    meanwhile = () => {}
    session.chat.adapter.createSource(asked(user('/start'), user('/finish', 'user-2')))
  }
  await say(session, user('/start'))
  await settled(session)
  await settled(session)
  expect(session.getConversationSnapshot()?.state).toBe('done')
  expect(storage.read(ID)?.conversation?.state).toBe('done')
})

test('the first agentic turn of a session with a conversation stores it', async () => {
  const storage = createMemorySessionStorage()
  const session = create({ storage })
  await say(session, user('hello'))
  await settled(session)
  expect(storage.read(ID)?.conversation).toEqual({ state: 'idle', decisions: [] })
})

test('a background save is tried again over what others store, a bounded number of times, and then reported', async () => {
  const storage = createMemorySessionStorage()
  let conflicts = 0
  const session = create({ storage: { ...storage, save: () => Boolean(conflicts++ < 0) } })
  await say(session, user('/start'))
  await settled(session)
  expect(conflicts).toBe(6)
  expect(session.getProblem()).toBeInstanceOf(SessionConflictError)
})

test('F23 a background save that fails is reported until a later one stores what is shown', async () => {
  const storage = createMemorySessionStorage()
  const failure = new RejoinError('storage-full', 'full')
  let failing = true
  const session = create({
    storage: { ...storage, save: (...args) => (failing ? Promise.reject(failure) : storage.save(...args)) },
  })
  const problems: unknown[] = []
  session.subscribe(() => problems.push(session.getProblem()))
  await say(session, user('/start'))
  await settled(session)
  expect(session.getProblem()).toBe(failure)
  expect(problems).toContain(failure)
  expect(session.getConversationSnapshot()?.state).toBe('active')
  failing = false
  await session.persist()
  expect(session.getProblem()).toBeUndefined()
})

test('G8 a session that was deleted ends, and its saves do not bring it back', async () => {
  const storage = createMemorySessionStorage()
  const session = create({ storage })
  await session.persist()
  await storage.delete?.(ID)
  expect(await rejected(session.persist())).toMatchObject({ code: 'deleted' })
  expect(await rejected(session.persist())).toMatchObject({ code: 'deleted' })
  expect(session.getProblem()).toMatchObject({ code: 'deleted' })
  expect(storage.read(ID)).toBeUndefined()
})

test('G6 a session whose stored state moved to another revision ends instead of overwriting it', async () => {
  const storage = createMemorySessionStorage()
  const session = create({ storage })
  await session.persist()
  storage.corrupt(ID, JSON.stringify(snapshot({ cursor: 2, definitionRevision: 2 })))
  expect(await rejected(session.persist())).toMatchObject({ code: 'definition-mismatch' })
  expect(await rejected(session.persist())).toMatchObject({ code: 'definition-mismatch' })
  expect(storage.read(ID)?.definitionRevision).toBe(2)
})

test('a conflict whose reading fails is a conflict still, and the next call tries again', async () => {
  const storage = createMemorySessionStorage()
  await create({ storage }).persist()
  const failure = new Error('read error')
  let failing = true
  const session = create({
    storage: { ...storage, load: (id) => (failing ? Promise.reject(failure) : storage.load(id)) },
  })
  expect(await rejected(session.persist())).toMatchObject({ name: 'SessionConflictError', cause: failure })
  failing = false
  expect(await rejected(session.persist())).toBeInstanceOf(SessionConflictError)
  await session.persist()
})

test('T1 a turn is claimed once, and its end is remembered', async () => {
  let clock = 1000
  const storage = createMemorySessionStorage()
  const session = create({ storage, now: () => new Date(clock) })
  expect(await session.claimTurn('turn-1', 500)).toBe(true)
  expect(storage.read(ID)?.activeTurn).toEqual({ turnId: 'turn-1', expiresAt: 1500 })
  expect(await session.claimTurn('turn-1', 500)).toBe(false)
  expect(await session.claimTurn('turn-2', 500)).toBe(false)
  expect(storage.saves).toHaveLength(1)
  await session.releaseTurn('turn-2', 'completed')
  expect(storage.saves).toHaveLength(1)
  await session.releaseTurn('turn-1', 'indeterminate')
  expect(storage.read(ID)).toMatchObject({ terminalTurns: [{ turnId: 'turn-1', outcome: 'indeterminate' }] })
  expect(storage.read(ID)?.activeTurn).toBeUndefined()
  expect(await session.claimTurn('turn-1', 500)).toBe(false)
  expect(await session.claimTurn('turn-2', 500)).toBe(true)
  clock = 1500
  expect(await session.claimTurn('turn-3', 500)).toBe(true)
})

test('T1 the last 64 ends of turns are kept, the latest last', async () => {
  const session = create({ storage: createMemorySessionStorage() })
  for (let turn = 0; turn < 66; turn++) {
    await session.claimTurn(`turn-${turn}`, 500)
    await session.releaseTurn(`turn-${turn}`, 'completed')
  }
  expect(await session.claimTurn('turn-1', 500)).toBe(true)
  await session.releaseTurn('turn-1', 'completed')
  expect(await session.claimTurn('turn-2', 500)).toBe(true)
  await session.releaseTurn('turn-2', 'completed')
  expect(await session.claimTurn('turn-5', 500)).toBe(false)
})

test('T1 a turn that ends again is the latest to have ended', async () => {
  const storage = createMemorySessionStorage()
  const ended = (turnId: string) => ({ turnId, outcome: 'completed' as const })
  const row = snapshot({
    activeTurn: { turnId: 'turn-1', expiresAt: 1 },
    terminalTurns: [ended('turn-1'), ended('turn-2')],
  })
  storage.corrupt(ID, JSON.stringify(row))
  await (await resume(storage)).releaseTurn('turn-1', 'indeterminate')
  expect(storage.read(ID)?.terminalTurns).toEqual([ended('turn-2'), { turnId: 'turn-1', outcome: 'indeterminate' }])
})

test('T1 a claim of a turn whose save failed holds nothing, and may be tried again', async () => {
  const storage = createMemorySessionStorage()
  let failing = true
  const session = create({
    storage: {
      ...storage,
      save: (...args) => (failing ? Promise.reject(new Error('disk')) : storage.save(...args)),
    },
  })
  await rejected(session.claimTurn('turn-1', 60_000))
  failing = false
  await session.persist()
  expect(storage.read(ID)?.activeTurn).toBeUndefined()
  expect(await session.claimTurn('turn-1', 60_000)).toBe(true)
})

test('T1 of two sessions that race for the turn one gets it, the other a conflict, and both go on', async () => {
  const storage = createMemorySessionStorage()
  await create({ storage }).persist()
  const [a, b] = await Promise.all([resume(storage), resume(storage)])
  const results = await Promise.allSettled([a.claimTurn('turn-a', 60_000), b.claimTurn('turn-b', 60_000)])
  expect(results).toMatchObject([
    { status: 'fulfilled', value: true },
    { status: 'rejected', reason: { name: 'SessionConflictError' } },
  ])
  expect(await b.claimTurn('turn-b', 60_000)).toBe(false)
  await b.persist()
  await a.releaseTurn('turn-a', 'completed')
  expect(await rejected(b.persist())).toBeInstanceOf(SessionConflictError)
  expect(await b.claimTurn('turn-b', 60_000)).toBe(true)
})

test('T1 a turn claim is not refused for a change that has nothing to do with it', async () => {
  const storage = createMemorySessionStorage()
  await create({ storage }).persist()
  const [a, b] = await Promise.all([resume(storage), resume(storage)])
  await b.persist()
  expect(await a.claimTurn('turn-a', 60_000)).toBe(true)
})

test('T1 an id or a time that makes no turn is refused', async () => {
  const session = create()
  for (const [turnId, leaseMs] of [
    ['', 1],
    ['a b', 1],
    ['turn', 0],
    ['turn', -1],
    ['turn', 1.5],
    ['turn', 2 ** 53],
  ] as const) {
    expect(await rejected(session.claimTurn(turnId, leaseMs))).toBeInstanceOf(ConfigError)
  }
})

test('the signal of a call goes to the storage, else that of the session', async () => {
  const signals: (AbortSignal | undefined)[] = []
  const storage = createMemorySessionStorage()
  const seen = {
    ...storage,
    save: (...args: Parameters<typeof storage.save>) => {
      signals.push(args[2])
      return storage.save(...args)
    },
  }
  const [owner, mine] = [new AbortController(), new AbortController()]
  const session = create({ storage: seen, signal: owner.signal })
  await session.persist()
  await session.persist(mine.signal)
  await session.claimTurn('turn-1', 500, mine.signal)
  expect(signals).toEqual([owner.signal, mine.signal, mine.signal])
  mine.abort(new Error('mine'))
  expect(await rejected(session.persist(mine.signal))).toMatchObject({ message: 'mine' })
  await session.persist()
})

test('a resume whose signal is aborted rejects, also where the storage does not look at it', async () => {
  const signal = AbortSignal.abort(new Error('enough'))
  const storage = { load: () => undefined, save: () => true }
  const resuming = resumeChatSession(chatDefinition(), { sessionId: ID, storage, signal })
  expect(await rejected(resuming)).toMatchObject({ message: 'enough' })
})

test('a save whose signal is aborted already does not reach the storage', async () => {
  let saves = 0
  const session = create({ storage: { load: () => undefined, save: () => ++saves > 0 } })
  expect(await rejected(session.persist(AbortSignal.abort(new Error('enough'))))).toMatchObject({ message: 'enough' })
  expect(saves).toBe(0)
})

test('a signal that is aborted later ends the session, and its saves reject with the reason', async () => {
  const owner = new AbortController()
  const storage = createMemorySessionStorage()
  const session = create({ storage, signal: owner.signal })
  await session.persist()
  const reason = new Error('the page is gone')
  owner.abort(reason)
  expect(await rejected(session.persist())).toBe(reason)
  expect(await rejected(session.claimTurn('turn-1', 500))).toBe(reason)
  await say(session, user('/start'))
  expect(session.getConversationSnapshot()?.state).toBe('active')
  expect(storage.saves).toHaveLength(1)
  expect(await rejected(resumeChatSession(chatDefinition(), { sessionId: ID, storage, signal: owner.signal }))).toBe(
    reason,
  )
})

test('a closed session saves no more', async () => {
  const storage = createMemorySessionStorage()
  const session = create({ storage })
  await session.persist()
  session.close()
  session.close()
  expect(await rejected(session.persist())).toMatchObject({ code: 'closed' })
  expect(session.getProblem()).toBeUndefined()
  expect(storage.saves).toHaveLength(1)
})

test('what a subscriber reads stays the same object until it changes', async () => {
  const storage = createMemorySessionStorage()
  const session = create({ storage })
  let heard = 0
  const stop = session.subscribe(() => heard++)
  const [confirmations, conversation] = [session.getConfirmations(), session.getConversationSnapshot()]
  await session.persist()
  expect(heard).toBeGreaterThan(0)
  expect(session.getConfirmations()).toBe(confirmations)
  expect(session.getConversationSnapshot()).toBe(conversation)
  stop()
  const before = heard
  await session.persist()
  expect(heard).toBe(before)
})

test('the 1001st confirmation makes room by the oldest settled ones', async () => {
  const storage = createMemorySessionStorage()
  const confirmations = Array.from({ length: 1000 }, (_, index) =>
    confirmation({
      token: `t-${index}`,
      toolCallId: `c-${index}`,
      input: {},
      expiresAt: 10_000 - index,
      status: index < 5 ? 'pending' : 'approved',
    }),
  )
  storage.corrupt(ID, JSON.stringify(snapshot({ confirmations })))
  const session = await resume(storage)
  const { token } = await session.createConfirmation({ chat: fakeChat() }).propose({ name: 'refund', input: {} })
  const kept = storage.read(ID)?.confirmations ?? []
  expect(kept).toHaveLength(900)
  expect(kept.filter(({ status }) => status === 'pending')).toHaveLength(6)
  expect(kept.some((each) => each.token === token)).toBe(true)
  expect(kept.some((each) => each.token === 't-999')).toBe(false)
  expect(kept.some((each) => each.token === 't-5')).toBe(true)
})

test('1001 confirmations that nobody decided are too many, and the call that was proposed is denied', async () => {
  const storage = createMemorySessionStorage()
  const confirmations = Array.from({ length: 1000 }, (_, index) =>
    confirmation({ token: `t-${index}`, toolCallId: `c-${index}`, input: {} }),
  )
  storage.corrupt(ID, JSON.stringify(snapshot({ confirmations })))
  const session = await resume(storage)
  const chat = fakeChat()
  const proposal = session.createConfirmation({ chat, createId: () => 'one' }).propose({ name: 'refund', input: {} })
  expect(await rejected(proposal)).toMatchObject({ code: 'too-large', hint: expect.any(String) })
  expect(chat.calls).toEqual(['deny app-one the confirmation could not be stored'])
  expect(session.getConfirmations()).toHaveLength(1000)
})

test('G6 the 1001st decision makes room, and the session resumes', async () => {
  const storage = createMemorySessionStorage()
  const session = create({ storage })
  const messages = Array.from({ length: 1100 }, (_, index) => user('/help', `user-${index}`))
  for (let turn = 1; turn <= messages.length; turn++) {
    session.chat.adapter.createSource(asked(...messages.slice(Math.max(0, turn - 950), turn)))
    if (turn % 100 === 0) await settled(session)
  }
  await session.persist()
  expect(storage.read(ID)?.conversation?.decisions).toHaveLength(900)
  const { cursor } = storage.read(ID) as Snapshot
  session.chat.adapter.createSource(asked(...messages.slice(-950)))
  await settled(session)
  expect(storage.read(ID)?.cursor).toBe(cursor)
  expect((await resume(storage)).getConversationSnapshot()?.state).toBe('idle')
})
