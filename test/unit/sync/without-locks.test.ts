import type { Rejoin } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ANSWER_WITHIN_MS } from '../../../src/storage/channel-locks.ts'
import { createTestServer, deskChat, eventually, SESSION, synced, type TestServer } from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let server: TestServer
let laptop: TestDevice
let ran: Map<string, string[]>
/** Ends the refunds that run. */
let finish: () => void
/** Questions about a claim that were answered: another tab is at work on it. */
let answers: unknown[]

beforeEach(async () => {
  server = await createTestServer()
  laptop = createTestDevice('laptop', server.url)
  ran = new Map()
  answers = []
})

afterEach(async () => {
  await laptop.close()
  await server.end()
  expect(laptop.errors).toEqual([])
})

/** A tab of a browser without Web Locks; nobody waits for an answer for long here. */
function openTab(): Promise<Rejoin> {
  const { timers, openChannel } = laptop.environment
  const asked = new Set<unknown>()
  return laptop.open({
    environment: {
      ...laptop.environment,
      locks: undefined,
      timers: {
        ...timers,
        setTimeout: (run, ms) => timers.setTimeout(run, ms === ANSWER_WITHIN_MS ? 200 : ms),
      },
      openChannel(name) {
        const channel = openChannel(name)
        return {
          ...channel,
          post(message) {
            const { kind, name, ask } = message as Record<string, unknown>
            if (kind === 'held?' && String(name).includes('claim:')) asked.add(ask)
            channel.post(message)
          },
          listen(listener) {
            channel.listen((message) => {
              const { kind, ask } = message as Record<string, unknown>
              if (kind === 'held' && asked.has(ask)) answers.push(ask)
              listener(message)
            })
          },
        }
      },
    },
  })
}

const hanging = () => {
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  return { ran, during: () => finished }
}

test('F38 K8 without Web Locks a run that goes on in one tab is not listed in another', async () => {
  const a = await openTab()
  const chatA = await deskChat(a, 'first tab', hanging())
  const record = await chatA.confirmation.propose({ name: 'refund', input: { id: '1' } })
  await synced(a)
  const approved = chatA.approve(record.toolCallId)
  await eventually(() => expect(ran.get('1')).toEqual(['first tab']))
  const b = await openTab()
  const listed = [b.attention.get()]
  b.attention.subscribe(() => listed.push(b.attention.get()))
  await eventually(() => expect(answers).not.toEqual([]))
  expect(b.claims.get()).toMatchObject([{ state: 'running' }])
  finish()
  await expect(approved).resolves.toMatchObject({ status: 'approved' })
  await eventually(() => expect(b.claims.get()).toMatchObject([{ state: 'settled' }]))
  expect(listed.flat()).toEqual([])
})

test('F38 K8 G2 without Web Locks a run whose tab died is listed, and not run again', async () => {
  const a = await openTab()
  const chatA = await deskChat(a, 'first tab', hanging())
  const record = await chatA.confirmation.propose({ name: 'refund', input: { id: '1' } })
  await synced(a)
  chatA.approve(record.toolCallId).catch(() => {})
  await eventually(() => expect(ran.get('1')).toEqual(['first tab']))
  await a.close()
  const b = await openTab()
  await deskChat(b, 'second tab', hanging())
  await eventually(() => expect(b.attention.get()).toMatchObject([{ kind: 'claim', state: 'attention' }]))
  expect(ran.get('1')).toEqual(['first tab'])
})

test('F38 K7 G1 without Web Locks a queued claim that won is run by one of the tabs that have its chat', async () => {
  const a = await openTab()
  const b = await openTab()
  const refunds = { ran, during: async () => {} }
  const chatA = await deskChat(a, 'first tab', refunds)
  const record = await chatA.confirmation.propose({ name: 'refund', input: { id: '1' } })
  await synced(a)
  const chatB = await deskChat(b, 'second tab', refunds)
  laptop.goOffline()
  await expect(chatA.approve(record.toolCallId)).rejects.toMatchObject({ code: 'claim-queued' })
  laptop.goOnline()
  for (const { session } of [chatA, chatB]) {
    await eventually(() => expect(session.getConfirmations()).toMatchObject([{ status: 'approved' }]))
  }
  expect(ran.get('1')).toHaveLength(1)
  await synced(b)
})

test('F38 H11 without Web Locks an answer that streams in one tab is not closed by another that opens', async () => {
  const a = await openTab()
  const memory = a.memory(SESSION)
  const streaming = {
    id: 'm1',
    role: 'assistant',
    content: 'Hel',
    status: 'streaming',
    createdAt: new Date(0),
  } as const
  await memory.save([streaming])
  const b = await openTab()
  await b.messages(SESSION).whenLoaded()
  expect(b.messages(SESSION).get()).toMatchObject([{ id: 'm1', status: 'streaming' }])
  await memory.save([{ ...streaming, content: 'Hello', status: 'complete' }])
  await eventually(() => expect(b.messages(SESSION).get()).toMatchObject([{ content: 'Hello', status: 'complete' }]))
})
