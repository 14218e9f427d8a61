import { createChatController } from '@agentskit/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Message } from '../../../src/contract/chat-message.ts'
import { type CommandRouteOptions, commandRoute } from '../../../src/session/command-route.ts'
import { ConfigError } from '../../../src/session/config-error.ts'
import {
  type ConversationDefinition,
  canReplay,
  compileConversation,
  type TurnTrace,
} from '../../../src/session/conversation.ts'
import { createChatSession } from '../../../src/session/create-chat-session.ts'
import { dispatchTurn, type Progress } from '../../../src/session/dispatch-turn.ts'
import { asked, CONVERSATION, chatDefinition, read, scriptedAdapter, user } from './chat-fixtures.ts'

function session(conversation: ConversationDefinition = CONVERSATION) {
  const adapter = scriptedAdapter()
  const traces: TurnTrace[] = []
  const opened = createChatSession(
    chatDefinition({
      chat: { adapter },
      conversation: { ...conversation, onTrace: (trace) => void traces.push(trace) },
    }),
  )
  return {
    opened,
    adapter,
    traces,
    say: (...messages: Message[]) => read(opened.chat.adapter.createSource(asked(...messages))),
    state: () => opened.getConversationSnapshot()?.state,
  }
}

const FAILED = [{ type: 'error', content: 'Deterministic route failed.' }]

test('V1 matching routes answer several turns before any model call, with deterministic traces', async () => {
  const { say, state, traces, adapter, opened } = session()
  expect(opened.getConversationSnapshot()).toEqual({ state: 'idle', events: ['start', 'help'], actions: ['begin'] })
  expect(await say(user('/start'))).toEqual([{ type: 'text', content: 'Started' }, { type: 'done' }])
  expect(await say(user('/start'), user('/finish', 'user-2'))).toContainEqual({ type: 'text', content: 'Finished' })
  expect(state()).toBe('done')
  expect(traces).toEqual([
    { kind: 'deterministic', routeId: 'start', fromState: 'idle', toState: 'active' },
    { kind: 'deterministic', routeId: 'finish', fromState: 'active', toState: 'done' },
  ])
  expect(adapter.requests).toEqual([])
})

test('V2 input that no route matches, or that its state does not allow, reaches the model as the identical request', async () => {
  const { opened, adapter, traces, state } = session()
  for (const content of ['hello', '/finish']) {
    const request = asked(user(content))
    expect(await read(opened.chat.adapter.createSource(request))).toContainEqual({ type: 'text', content: 'model' })
    expect(adapter.requests.at(-1)).toBe(request)
  }
  expect(state()).toBe('idle')
  expect(traces).toEqual(Array(2).fill({ kind: 'agentic', fromState: 'idle', toState: 'idle' }))
})

test('V2 a route that is restricted to other states is not eligible', async () => {
  const { say, adapter } = session({
    initial: 'a',
    states: { a: { on: { go: 'b' } }, b: { on: { go: 'a' } } },
    routes: [{ id: 'go', event: 'go', states: ['b'], match: () => true, response: () => 'went' }],
  })
  await say(user('go'))
  expect(adapter.requests).toHaveLength(1)
})

test('V3 the first declared route wins, and two sessions of one definition are independent', async () => {
  const definition = chatDefinition({
    conversation: {
      initial: 'a',
      states: { a: { on: { one: 'b', two: 'c' } }, b: {}, c: {} },
      routes: [
        { id: 'first', event: 'one', match: () => true, response: () => 'first' },
        { id: 'second', event: 'two', match: () => true, response: () => 'second' },
      ],
    },
  })
  const [left, right] = [createChatSession(definition), createChatSession(definition)]
  expect(await read(left.chat.adapter.createSource(asked(user('x'))))).toContainEqual({
    type: 'text',
    content: 'first',
  })
  expect(left.getConversationSnapshot()?.state).toBe('b')
  expect(right.getConversationSnapshot()?.state).toBe('a')
  expect(left.sessionId).not.toBe(right.sessionId)
})

test('V4 repaired and fallback kinds are reported', async () => {
  for (const traceKind of ['repaired', 'fallback'] as const) {
    const { say, traces } = session({
      initial: 'a',
      states: { a: { on: { go: 'a' } } },
      routes: [{ id: 'go', event: 'go', match: () => true, response: () => 'ok', traceKind }],
    })
    await say(user('x'))
    expect(traces).toEqual([{ kind: traceKind, routeId: 'go', fromState: 'a', toState: 'a' }])
  }
})

test('V5 a callback that throws ends in a single error chunk, with no model call and no change of state', async () => {
  const fails = (): never => {
    throw new Error('secret')
  }
  const broken: ConversationDefinition['routes'][number][] = [
    { id: 'match', event: 'go', match: fails, response: () => 'never' },
    { id: 'response', event: 'go', match: () => true, response: fails },
    { id: 'not-text', event: 'go', match: () => true, response: () => 7 as never },
    { id: 'too-long', event: 'go', match: () => true, response: () => 'x'.repeat(65_537) },
  ]
  for (const route of broken) {
    const { say, state, traces, adapter } = session({
      initial: 'a',
      states: { a: { on: { go: 'b' } }, b: {} },
      routes: [route],
    })
    expect(await say(user('x'))).toEqual(FAILED)
    expect(state()).toBe('a')
    expect(traces).toEqual([])
    expect(adapter.requests).toEqual([])
  }
})

test('V5 a turn whose message id could not be stored fails instead of making the session unstorable', async () => {
  const { say, state, opened } = session()
  expect(await say(user('/start', 'not a safe id'))).toEqual(FAILED)
  expect(state()).toBe('idle')
  await opened.persist()
})

test.each(['every-change', 'finalized'] as const)(
  'V6 retry and regenerate replay a deterministic turn without the model, under %s',
  async (regime) => {
    const { opened, adapter, state } = session()
    const controller = createChatController({ ...opened.chat, regime })
    await controller.send('/start')
    await controller.retry()
    await controller.regenerate()
    expect(controller.getState().messages.at(-1)?.content).toBe('Started')
    expect(state()).toBe('active')
    expect(adapter.requests).toEqual([])
  },
)

test('V7 editing a deterministic user turn recomputes the state and calls the model once', async () => {
  const { opened, adapter, state } = session()
  const controller = createChatController(opened.chat)
  await controller.send('/start')
  const id = controller.getState().messages.find(({ role }) => role === 'user')?.id ?? ''
  await controller.edit(id, 'changed')
  expect(adapter.requests).toHaveLength(1)
  expect(state()).toBe('idle')
})

test('V7 a turn that is edited and edited back is judged anew', async () => {
  let answers = 0
  const { say } = session({
    initial: 'idle',
    states: { idle: { on: { start: 'active' } }, active: {} },
    routes: [{ id: 'start', event: 'start', match: (x) => x === '/start', response: () => `Answer ${++answers}` }],
  })
  await say(user('/start'))
  await say(user('hello'))
  expect(await say(user('/start'))).toContainEqual({ type: 'text', content: 'Answer 2' })
})

test('V8 decisions of messages that are missing are dropped, and an id that comes back is judged anew', async () => {
  let runs = 0
  const { say } = session({
    ...CONVERSATION,
    routes: CONVERSATION.routes.map((route) =>
      route.id === 'finish' ? { ...route, response: () => `Finished ${++runs}` } : route,
    ),
  })
  await say(user('/start'), user('/finish', 'user-2'))
  await say(user('/start'))
  await say(user('/start'), user('/finish', 'user-2'))
  await say(user('edited'))
  await say(user('/start', 'user-3'))
  expect(await say(user('/start', 'user-3'), user('/finish', 'user-2'))).toContainEqual({
    type: 'text',
    content: 'Finished 2',
  })
})

test('V9 a trace sink that throws or rejects is harmless', async () => {
  for (const onTrace of [
    () => {
      throw new Error('sync')
    },
    () => Promise.reject(new Error('async')),
  ]) {
    const opened = createChatSession(chatDefinition({ conversation: { ...CONVERSATION, onTrace } }))
    expect(await read(opened.chat.adapter.createSource(asked(user('/start'))))).toContainEqual({
      type: 'text',
      content: 'Started',
    })
    expect(opened.getConversationSnapshot()?.state).toBe('active')
  }
})

test('V9 traces carry nothing that somebody wrote', async () => {
  const { say, traces } = session()
  await say(user('my password is hunter2'))
  await say(user('/start'))
  expect(JSON.stringify(traces)).not.toMatch(/hunter2|\/start|Started/)
})

const route = { id: 'go', event: 'go', match: () => true, response: () => '' }

test.each<[string, ConversationDefinition]>([
  ['an unknown initial state', { initial: 'missing', states: { idle: {} }, routes: [] }],
  ['a blank state name', { initial: '', states: { '': {} }, routes: [] }],
  ['an unknown target', { initial: 'idle', states: { idle: { on: { go: 'missing' } } }, routes: [] }],
  ['a blank route id', { initial: 'idle', states: { idle: {} }, routes: [{ ...route, id: '' }] }],
  ['a blank event', { initial: 'idle', states: { idle: {} }, routes: [{ ...route, event: '' }] }],
  ['two routes of one id', { initial: 'idle', states: { idle: {} }, routes: [route, route] }],
  [
    'a route of an unknown state',
    { initial: 'idle', states: { idle: {} }, routes: [{ ...route, states: ['missing'] }] },
  ],
  ['a route id that could not be stored', { initial: 'idle', states: { idle: {} }, routes: [{ ...route, id: 'a b' }] }],
  [
    'a state name that could not be stored',
    { initial: 'x'.repeat(129), states: { ['x'.repeat(129)]: {} }, routes: [] },
  ],
])('V10 a machine with %s is refused before any dispatch', (_, conversation) => {
  const create = () => createChatSession(chatDefinition({ conversation }))
  expect(create).toThrow(ConfigError)
  expect(create).toThrow(expect.objectContaining({ name: 'ConfigError', code: 'AK_CONFIG_INVALID' }))
})

test('V10 an empty command is refused', () => {
  const options: CommandRouteOptions = { id: 'empty', command: '', event: 'go', response: () => '' }
  expect(() => commandRoute(options)).toThrow(ConfigError)
})

test('V10 names that are special to JavaScript are only names', async () => {
  const { say, state, adapter } = session({
    initial: 'constructor',
    states: JSON.parse('{"constructor":{"on":{"__proto__":"toString"}},"toString":{}}'),
    routes: [
      { id: 'inherited', event: 'hasOwnProperty', match: () => true, response: () => 'never' },
      { id: 'go', event: '__proto__', match: (input) => input === 'go', response: () => 'went' },
    ],
  })
  await say(user('other'))
  expect(adapter.requests).toHaveLength(1)
  expect(await say(user('go'))).toContainEqual({ type: 'text', content: 'went' })
  expect(state()).toBe('toString')
})

test('V1 a route is told its session and message', async () => {
  const told: unknown[] = []
  const { say, opened } = session({
    initial: 'a',
    states: { a: { on: { go: 'a' } } },
    routes: [
      { id: 'go', event: 'go', match: () => true, response: (input, context) => `${told.push([input, context])}` },
    ],
  })
  await say(user('x', 'user-9'))
  expect(told).toEqual([['x', { sessionId: opened.sessionId, messageId: 'user-9' }]])
})

test('V1 an aborted answer says nothing before it starts and is not done afterwards', async () => {
  const { opened } = session()
  const before = opened.chat.adapter.createSource(asked(user('/help')))
  before.abort()
  expect(await read(before)).toEqual([])
  const during = opened.chat.adapter.createSource(asked(user('/help')))
  const chunks = during.stream()
  expect(await chunks.next()).toEqual({ done: false, value: { type: 'text', content: 'Help' } })
  during.abort()
  expect(await chunks.next()).toEqual({ done: true, value: undefined })
})

test('S7 a configuration that is wrapped already, by this session or another, is not wrapped twice', async () => {
  const { opened, traces, adapter } = session()
  const other = session()
  const updated = opened.updateChat({ ...opened.updateChat(other.opened.chat), systemPrompt: 'updated' })
  expect(updated).toMatchObject({ systemPrompt: 'updated' })
  await read(updated.adapter.createSource(asked(user('unknown'))))
  expect(traces).toHaveLength(1)
  expect(other.traces).toEqual([])
  expect(other.adapter.requests).toHaveLength(1)
  expect(adapter.requests).toEqual([])
  await read(opened.chat.adapter.createSource(asked(user('unknown'))))
  expect(adapter.requests).toHaveLength(1)
})

test('S7 everything but the adapter is handed on as it is', () => {
  const tools = [{ name: 'refund' }]
  const chat = { adapter: scriptedAdapter(), tools, systemPrompt: 'x' }
  const { adapter: _, ...rest } = createChatSession({ ...chatDefinition(), chat }).chat
  expect(rest).toEqual({ tools, systemPrompt: 'x', decisionStore: expect.anything() })
  expect(rest.tools).toBe(tools)
})

test('an adapter that takes the session is preferred to be asked with it, also without a conversation', async () => {
  const seen: string[] = []
  const base = scriptedAdapter()
  const adapter = {
    ...base,
    createSourceForSession: (request: Parameters<typeof base.createSource>[0], sessionId: string) => {
      seen.push(sessionId)
      return base.createSource(request)
    },
  }
  for (const conversation of [CONVERSATION, undefined]) {
    const { conversation: _, ...definition } = chatDefinition({ chat: { adapter } })
    const opened = createChatSession(
      { ...definition, ...(conversation && { conversation }) },
      { sessionId: 'session-1' },
    )
    expect(opened.chat.adapter.createSourceForSession).toBeUndefined()
    await read(opened.chat.adapter.createSource(asked(user('hello'))))
  }
  expect(seen).toEqual(['session-1', 'session-1'])
})

test('G6 whatever happens to the messages, what is to be stored leads from the initial state to the present one', () => {
  const machine = compileConversation(CONVERSATION)
  const contents = fc.constantFrom('/start', '/finish', '/again', '/help', 'hello')
  const history = fc.uniqueArray(fc.record({ id: fc.constantFrom('u1', 'u2', 'u3', 'u4', 'u5'), content: contents }), {
    selector: ({ id }) => id,
    maxLength: 5,
  })
  fc.assert(
    fc.property(fc.array(history, { maxLength: 8 }), (turns) => {
      let progress: Progress = { state: machine.initial, decisions: [], aside: [] }
      for (const turn of turns) {
        const messages = turn.map(({ id, content }) => user(content, id))
        const { progress: next, outcome } = dispatchTurn(machine, progress, messages, 'session-1')
        progress = next
        expect(canReplay(machine, progress)).toBe(true)
        const ids = turn.map(({ id }) => id)
        for (const { messageId } of [...progress.decisions, ...progress.aside]) expect(ids).toContain(messageId)
        const known = [...progress.decisions, ...progress.aside].map(({ messageId }) => messageId)
        expect(new Set(known).size).toBe(known.length)
        if (outcome.kind === 'answered') expect(progress.decisions.at(-1)?.messageId).toBe(ids.at(-1))
        else expect(progress.decisions.map(({ messageId }) => messageId)).not.toContain(ids.at(-1))
        // A tool continuation dispatches the same messages again.
        expect(dispatchTurn(machine, progress, messages, 'session-1')).toEqual({ progress, outcome })
      }
    }),
    { numRuns: 500 },
  )
})

test('G6 a decision that does not fit a reordered history is kept aside, and counts again when it does', () => {
  const machine = compileConversation(CONVERSATION)
  const start = user('/start', 'u1')
  const finish = user('/finish', 'u2')
  const fresh: Progress = { state: 'idle', decisions: [], aside: [] }
  const one = dispatchTurn(machine, fresh, [start], 's').progress
  const two = dispatchTurn(machine, one, [start, finish], 's').progress
  const swapped = dispatchTurn(machine, two, [finish, start, user('hello', 'u3')], 's').progress
  expect(swapped).toMatchObject({ state: 'active', decisions: [{ messageId: 'u1' }], aside: [{ messageId: 'u2' }] })
  const back = dispatchTurn(machine, swapped, [start, finish, user('hello', 'u3')], 's').progress
  expect(back).toMatchObject({ state: 'done', decisions: [{ messageId: 'u1' }, { messageId: 'u2' }], aside: [] })
})

test('G6 a decision from aside never displaces one that is stored', () => {
  const machine = compileConversation(CONVERSATION)
  const ours = dispatchTurn(
    machine,
    { state: 'idle', decisions: [], aside: [] },
    [user('/start', 'ours')],
    's',
  ).progress
  const theirs = dispatchTurn(
    machine,
    { state: 'idle', decisions: [], aside: [] },
    [user('/start', 'theirs')],
    's',
  ).progress
  const adopted: Progress = { ...theirs, aside: ours.decisions }
  const next = dispatchTurn(machine, adopted, [user('/start', 'ours'), user('/start', 'theirs'), user('x', 'u3')], 's')
  expect(next.progress.decisions).toEqual(theirs.decisions)
})
