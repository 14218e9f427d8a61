import { chatMemorySuite } from 'rejoin/testing'
import { describe, expect, test } from 'vitest'
import type { ChatMemory } from '../../../src/contract/chat-memory.ts'
import type { Message } from '../../../src/contract/chat-message.ts'
import { createTestDevice } from '../sync/device.ts'
import { createReplaceAllMemory } from './replace-all-memory.ts'
import { createDevice } from './tabs.ts'

const supports = { clear: true, signals: true, sessions: true }

describe('M our memory over the memory twin', () => {
  chatMemorySuite({
    test,
    expect,
    async create() {
      const device = createDevice()
      const tab = await device.openTab()
      const open = async () => (await device.openTab()).memory()
      return { memory: tab.memory(), open, otherSession: tab.memory('s2') }
    },
    supports,
  })
})

for (const [where, environment] of [
  ['IndexedDB', {}],
  ['memory', { indexedDB: undefined }],
] as const) {
  describe(`M rejoin.memory on ${where}`, () => {
    chatMemorySuite({
      test,
      expect,
      async create() {
        const device = createTestDevice('laptop', undefined)
        const openTab = () => device.open({ environment: { ...device.environment, ...environment } })
        const tab = await openTab()
        // Without a database each page has its own messages: another chat of the same page is all there can be.
        const open = async () => (where === 'memory' ? tab : await openTab()).memory('s1')
        return { memory: tab.memory('s1'), open, otherSession: tab.memory('s2'), close: device.close }
      },
      supports,
    })
  })
}

/** The names of the rules that a memory breaks. */
async function broken(create: () => (sessionId: string) => ChatMemory): Promise<string[]> {
  const failures: string[] = []
  const rules: { name: string; run: () => Promise<void> }[] = []
  chatMemorySuite({
    test: Object.assign((name: string, run: () => Promise<void>) => rules.push({ name, run }), {
      skip: () => undefined,
    }),
    expect,
    create() {
      const open = create()
      return { memory: open('s1'), open: () => open('s1'), otherSession: open('s2') }
    },
    supports,
  })
  for (const { name, run } of rules) await run().catch(() => failures.push(name))
  return failures
}

/** A replace-all memory with something else about it. */
function but(change: (memory: Required<ChatMemory>) => Partial<ChatMemory>) {
  return () => {
    const open = createReplaceAllMemory()
    return (sessionId: string) => ({ ...open(sessionId), ...change(open(sessionId)) })
  }
}

test('G7 the suite refuses a memory that replaces everything, for what its caller never saw and for nothing else', async () => {
  expect(await broken(createReplaceAllMemory)).toEqual([
    'H1 a save of nothing before the load is done wipes nothing',
    'H3 a first turn that is sent before the history has come goes behind it',
    'H5 G7 a stale tab that saves its list removes nothing that it never saw',
    'H5 F34 two tabs that both append keep everything once',
  ])
})

test('H6 the suite refuses a memory that only adds', async () => {
  const adding = but(({ load, save }) => ({
    async save(list, options) {
      const kept = new Map((await load()).map((message) => [message.id, message]))
      for (const message of list) kept.set(message.id, message)
      await save([...kept.values()], options)
    },
  }))
  const failures = await broken(adding)
  expect(failures).toContain('M9 H6 a regenerated answer takes the place of the old one')
  expect(failures).toContain('M9 H6 an edited question takes what came after it along')
})

test('the suite refuses a memory that gives a window, an order of its own, or what it keeps itself', async () => {
  const windowed = but(({ load }) => ({ load: async () => (await load()).slice(-20) }))
  expect(await broken(windowed)).toContain('M12 H15 a long history loads whole')
  const sorted = but(({ load }) => ({
    load: async () => (await load()).sort((a, b) => Number(a.createdAt) - Number(b.createdAt)),
  }))
  expect(await broken(sorted)).toContain('M13 the order of a list is kept, whatever its dates and ids say')
  const lent = () => {
    const stored = new Map<string, Message[]>()
    return (sessionId: string): ChatMemory => ({
      load: () => stored.get(sessionId) ?? [],
      save: (list) => void stored.set(sessionId, list),
    })
  }
  const failures = await broken(lent)
  expect(failures).toContain('M1 each load gives a list of its own')
  expect(failures).toContain('M1 what a caller does to messages after saving or loading them changes nothing stored')
  expect(failures).toContain(
    'M4 M13 a list with something in it that is no message is refused, and nothing of it is stored',
  )
})
