import { afterEach, expect, test } from 'vitest'
import { browserEnvironment } from '../../../src/browser-environment.ts'
import type { ChatMemory } from '../../../src/contract/chat-memory.ts'
import type { Message } from '../../../src/contract/chat-message.ts'
import { createMessageStore, type MessageStore } from '../../../src/messages/message-store.ts'
import { namesOf } from '../../../src/storage/names.ts'
import { openIndexedDatabase } from '../../../src/storage/open-indexed-database.ts'
import { createWebLocks } from '../../../src/storage/web-locks.ts'

// Two stores on one real IndexedDB database, each with a BroadcastChannel of its own: what two tabs are to each other.

interface Tab {
  readonly store: MessageStore
  readonly memory: Required<ChatMemory>
  readonly get: () => readonly Message[]
  /** Resolves when what the tab shows is so. */
  readonly shows: (accept: (messages: readonly Message[]) => boolean) => Promise<readonly Message[]>
  readonly rows: () => Promise<number>
  readonly close: () => Promise<void>
}

const open = new Set<Tab>()
let realm = ''

afterEach(async () => {
  for (const tab of open) await tab.close()
  indexedDB.deleteDatabase(namesOf('acme', realm).database)
  realm = ''
})

async function openTab(): Promise<Tab> {
  realm ||= `messages-${crypto.randomUUID()}`
  const environment = { ...browserEnvironment(), locks: createWebLocks(navigator.locks) }
  const names = namesOf('acme', realm)
  const lifetime = new AbortController()
  const database = await openIndexedDatabase({
    environment,
    names,
    identity: { account: 'acme', realm, label: 'Laptop' },
  })
  const store = createMessageStore({ database, environment, names, signal: lifetime.signal })
  const messages = store.messages('s1')
  const tab: Tab = {
    store,
    memory: store.memory('s1') as Required<ChatMemory>,
    get: messages.get,
    shows: (accept) =>
      new Promise((resolve) => {
        const look = () => {
          if (!accept(messages.get())) return
          stop()
          resolve(messages.get())
        }
        const stop = messages.subscribe(look)
        look()
      }),
    rows: async () => (await database.updates('s1')).length,
    async close() {
      open.delete(tab)
      await store.close()
      lifetime.abort()
      await database.close()
    },
  }
  open.add(tab)
  return tab
}

const message = (id: string, content: string, rest: Partial<Message> = {}): Message => ({
  id,
  role: id.startsWith('u') ? 'user' : 'assistant',
  content,
  status: 'complete',
  createdAt: new Date(1_767_225_600_000),
  ...rest,
})
const text = (messages: readonly Message[]) => messages.at(-1)?.content

test('F41 E2E 2 each token that streams in one tab shows in the other', async () => {
  const [a, b] = [await openTab(), await openTab()]
  await Promise.all([a.memory.load(), b.memory.load()])
  const question = message('u1', 'count')
  let content = ''
  for (let token = 1; token <= 30; token++) {
    content += `${token} `
    await a.memory.save([question, message('a1', content, { status: 'streaming' })])
    expect(text(await b.shows((messages) => text(messages) === content))).toBe(content)
  }
  await a.memory.save([question, message('a1', content)])
  await b.shows((messages) => messages.at(-1)?.status === 'complete')
  expect(b.get()).toEqual(a.get())
})

test('G4 F25 a reload has everything that a save resolved for, in its order', async () => {
  const a = await openTab()
  const list = [
    message('u1', 'refund order 7'),
    message('a1', '', {
      toolCalls: [{ id: 'c1', name: 'refund', args: { order: 7 }, status: 'requires_confirmation' }],
      metadata: { usage: { total: 12 }, reasoning: 'They ask for money.' },
    }),
    message('u2', 'and thanks \u{1f64f}', { parts: [{ type: 'text', text: 'and thanks' }] }),
  ]
  await a.memory.load()
  await a.memory.save(list)
  await a.close()
  const again = await openTab()
  expect(await again.memory.load()).toEqual(list)
  expect(await again.rows()).toBe(1)
})

test('an emoji that is streamed in surrogate halves never shows a replacement character', async () => {
  const [a, b] = [await openTab(), await openTab()]
  await Promise.all([a.memory.load(), b.memory.load()])
  const seen: string[] = []
  const stop = b.store.messages('s1').subscribe(() => seen.push(text(b.get()) ?? ''))
  const answer = 'ok \u{1f600}\u{1f9d1}‍\u{1f680} done \u{1f44d}'
  for (let length = 1; length <= answer.length; length++) {
    await a.memory.save([message('a1', answer.slice(0, length), { status: 'streaming' })])
  }
  await b.shows((messages) => text(messages) === answer)
  stop()
  expect(seen.length).toBeGreaterThan(0)
  for (const shown of seen) expect(shown).not.toMatch(/\ufffd|\p{Surrogate}/u)
  await Promise.all([a.close(), b.close()])
  expect(text(await (await openTab()).memory.load())).toBe(answer)
})

test('F34 two tabs that append at the same time keep everything once, in one order', async () => {
  const tabs = [await openTab(), await openTab()]
  const lists = await Promise.all(tabs.map((tab) => tab.memory.load()))
  for (let turn = 0; turn < 25; turn++) {
    await Promise.all(
      tabs.map(async (tab, at) => {
        const list = [...(lists[at] ?? []), message(`u${turn}-${at}`, `${turn} of ${at}`)]
        lists[at] = list
        await tab.memory.save(list)
      }),
    )
  }
  const shown = await Promise.all(tabs.map((tab) => tab.shows((messages) => messages.length === 50)))
  expect(shown[1]).toEqual(shown[0])
  expect(new Set(shown[0]?.map(({ id }) => id)).size).toBe(50)
  expect(await (await openTab()).memory.load()).toEqual(shown[0])
})

test('H11 Web Locks tell a stream that goes on from one whose tab is gone', async () => {
  const [a, b] = [await openTab(), await openTab()]
  await a.memory.load()
  await a.memory.save([message('a1', 'half an ans', { status: 'streaming' })])
  expect((await b.memory.load())[0]).toMatchObject({ status: 'streaming' })
  await a.close()
  expect(await b.store.closeInterrupted('s1')).toBe(1)
  expect((await (await openTab()).memory.load())[0]).toMatchObject({
    content: 'half an ans',
    status: 'complete',
    metadata: { interrupted: true },
  })
})

test('F26 a long stream is compacted while it goes on, and is whole afterwards', async () => {
  const a = await openTab()
  await a.memory.load()
  let content = ''
  for (let token = 0; token < 600; token++) {
    content += `word ${token} `
    await a.memory.save([message('a1', content, { status: 'streaming' })])
  }
  await a.close()
  const again = await openTab()
  expect(text(await again.memory.load())).toBe(content)
  expect(await again.rows()).toBeLessThan(500)
})
