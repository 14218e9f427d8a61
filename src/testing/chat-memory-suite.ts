import type { ChatMemory } from '../contract/chat-memory.ts'
import type { Message } from '../contract/chat-message.ts'
import { answer, at, call, fullHistory, history, notMessages, streaming, user } from './sample-messages.ts'
import { type DeclareTest, type Expect, rejects } from './suite-runner.ts'

export interface ChatMemoryUnderTest {
  /** Of a session without messages; nothing was loaded or saved by it. */
  readonly memory: ChatMemory
  /** The same session's memory as another tab has it, or this one after a reload. */
  readonly open: () => ChatMemory | Promise<ChatMemory>
  /** The memory of another session. */
  readonly otherSession?: ChatMemory
  readonly close?: () => void | Promise<void>
}

/** What an implementation declares to have; a capability that it lacks is skipped under its name. */
export interface ChatMemorySupports {
  readonly clear: boolean
  /** It looks at `signal`. */
  readonly signals: boolean
  readonly sessions: boolean
}

export interface ChatMemorySuiteOptions {
  readonly test: DeclareTest
  readonly expect: Expect
  /** A fresh, empty memory for each test. */
  readonly create: () => ChatMemoryUnderTest | Promise<ChatMemoryUnderTest>
  readonly supports: ChatMemorySupports
}

/**
 * What every `ChatMemory` has to do under controllers of AgentsKit: give back whole histories in order, isolated from its
 * callers, and not lose what the caller of a `save` never saw. A controller saves before it has loaded (strict mode, a
 * fast unmount, a first message that is sent at once), and a tab saves a list that is older than what others stored.
 * Runs under any runner whose `test` and `expect` have the usual form.
 */
export function chatMemorySuite({ test, expect, create, supports }: ChatMemorySuiteOptions): void {
  function rule(name: string, run: (under: ChatMemoryUnderTest) => Promise<void>, supported = true): void {
    const declare = supported ? test : test.skip
    declare(name, async () => {
      const under = await create()
      try {
        await run(under)
      } finally {
        await under.close?.()
      }
    })
  }

  async function expectRejection(run: () => unknown): Promise<void> {
    expect(await rejects(run)).toBe(true)
  }

  async function expectStored({ open }: ChatMemoryUnderTest, ...expected: readonly string[]): Promise<void> {
    expect(idsOf(await (await open()).load())).toEqual(expected)
  }

  rule('M1 a session without messages loads as an empty list', async ({ memory }) => {
    expect(await memory.load()).toEqual([])
  })

  rule('M1 M3 what was saved loads equal, with every field and without those that were left out', async (under) => {
    const list = fullHistory()
    await under.memory.save(list)
    expect(await under.memory.load()).toEqual(list)
    const loaded = await (await under.open()).load()
    expect(loaded).toEqual(list)
    expect(loaded.every(({ createdAt }) => createdAt instanceof Date)).toBe(true)
  })

  rule('M1 each load gives a list of its own', async ({ memory }) => {
    await memory.save(history())
    const first = await memory.load()
    expect((await memory.load()) === first).toBe(false)
    first.length = 0
    expect(idsOf(await memory.load())).toEqual(['u1', 'a1'])
  })

  rule('M1 what a caller does to messages after saving or loading them changes nothing stored', async (under) => {
    const args = { amount: 1 }
    const list = [user('u1', 'one'), answer('a1', '', { toolCalls: [call('c1', { args, status: 'running' })] })]
    await under.memory.save(list)
    args.amount = 2
    list.length = 0
    const loaded = await under.memory.load()
    try {
      Object.assign(loaded[0] as object, { content: 'spoiled' })
      loaded[1]?.createdAt.setTime(0)
      Object.assign(loaded[1]?.toolCalls?.[0]?.args ?? {}, { amount: 3 })
    } catch {
      // A frozen answer is as good.
    }
    const [question, asked] = await (await under.open()).load()
    expect(question?.content).toBe('one')
    expect(asked?.toolCalls?.[0]?.args).toEqual({ amount: 1 })
    expect(asked?.createdAt.getTime() === 0).toBe(false)
  })

  rule('M13 the order of a list is kept, whatever its dates and ids say', async (under) => {
    const list = [
      user('u9', 'first', { createdAt: at(9) }),
      answer('a1', '', { createdAt: at(9), toolCalls: [call('c1')] }),
      { ...answer('t5', 'done', { createdAt: at(1), toolCallId: 'c1' }), role: 'tool' as const },
      answer('a0', 'last', { createdAt: at(5) }),
    ]
    await under.memory.save(list)
    await expectStored(under, 'u9', 'a1', 't5', 'a0')
  })

  rule('M12 H15 a long history loads whole', async (under) => {
    const list = Array.from({ length: 1000 }, (_, index) => user(`u${index}`, `message ${index}`))
    await under.memory.save(list)
    await expectStored(under, ...idsOf(list))
  })

  rule('M7 of saves that follow each other without a wait the last one stands', async (under) => {
    const contents = ['o', 'on', 'one', 'one ', 'one more']
    const saves = contents.map((content) => under.memory.save([user('u1', 'go'), streaming('a1', content)]))
    await Promise.all(saves)
    await under.memory.save([user('u1', 'go'), answer('a1', 'one more time')])
    const [, last] = await (await under.open()).load()
    expect([last?.content, last?.status]).toEqual(['one more time', 'complete'])
  })

  rule('H2 the same list saved again and again, as at keystrokes, stays what it is', async (under) => {
    await under.memory.save(history())
    const list = await under.memory.load()
    for (let key = 0; key < 5; key++) await under.memory.save(list)
    await under.memory.save([...list])
    await expectStored(under, 'u1', 'a1')
  })

  rule('H1 a save of nothing before the load is done wipes nothing', async (under) => {
    const memory = await after(under, history())
    const loading = memory.load()
    await memory.save([])
    expect(idsOf(await loading)).toEqual(['u1', 'a1'])
    // A second mount does the same again.
    const again = memory.load()
    await memory.save([])
    expect(idsOf(await again)).toEqual(['u1', 'a1'])
    await expectStored(under, 'u1', 'a1')
  })

  rule('H3 a first turn that is sent before the history has come goes behind it', async (under) => {
    const memory = await after(under, history())
    const loading = memory.load()
    const question = user('u2', 'quick')
    await memory.save([question, streaming('a2', '')])
    await loading
    await memory.save([question, answer('a2', 'there you are')])
    await expectStored(under, 'u1', 'a1', 'u2', 'a2')
  })

  rule('H5 G7 a stale tab that saves its list removes nothing that it never saw', async (under) => {
    const stale = await after(under, history())
    const list = await stale.load()
    const other = await under.open()
    await other.save([...(await other.load()), user('u2', 'from the other'), answer('a2', 'answered')])
    await stale.save(list)
    await stale.save([...list, user('u3', 'from the stale one')])
    expect(idsOf(await (await under.open()).load()).sort()).toEqual(['a1', 'a2', 'u1', 'u2', 'u3'])
  })

  rule('H5 F34 two tabs that both append keep everything once', async (under) => {
    const tabs = await Promise.all([under.open(), under.open()])
    const lists = await Promise.all(tabs.map((tab) => tab.load()))
    for (let turn = 0; turn < 10; turn++) {
      await Promise.all(
        tabs.map((tab, index) => {
          lists[index] = [...(lists[index] ?? []), user(`u${turn}-${index}`, 'said')]
          return tab.save(lists[index] ?? [])
        }),
      )
    }
    const stored = idsOf(await (await under.open()).load())
    expect([stored.length, new Set(stored).size]).toEqual([20, 20])
  })

  rule(
    'H12 a list that another tab’s messages were put into is stored once, however often it is saved',
    async (under) => {
      const memory = await after(under, history())
      const own = await memory.load()
      const other = await under.open()
      await other.save([...(await other.load()), user('u2', 'remote'), answer('a2', 'answered')])
      const fed = [...own, ...(await memory.load()).slice(own.length)]
      for (let time = 0; time < 3; time++) await memory.save([...fed])
      const stored = await (await under.open()).load()
      expect(stored.map(({ id, content }) => [id, content])).toEqual([
        ['u1', 'one'],
        ['a1', 'two'],
        ['u2', 'remote'],
        ['a2', 'answered'],
      ])
    },
  )

  rule('M9 H6 a regenerated answer takes the place of the old one', async (under) => {
    const memory = await after(under, history())
    const [question] = await memory.load()
    await memory.save([question as Message, answer('a9', 'better')])
    await expectStored(under, 'u1', 'a9')
  })

  rule('M9 H6 an edited question takes what came after it along', async (under) => {
    const memory = await after(under, [...history(), user('u2', 'three')])
    const [question] = await memory.load()
    await memory.save([{ ...(question as Message), content: 'one, edited' }])
    const stored = await (await under.open()).load()
    expect(stored.map(({ id, content }) => [id, content])).toEqual([['u1', 'one, edited']])
  })

  rule(
    'M4 M13 a list with something in it that is no message is refused, and nothing of it is stored',
    async (under) => {
      await under.memory.save(history())
      const list = await under.memory.load()
      for (const bad of notMessages()) {
        await expectRejection(() => under.memory.save([...list, user('u2', 'fine'), bad as Message]))
      }
      await expectStored(under, 'u1', 'a1')
      await under.memory.save([...list, user('u2', 'fine')])
      await expectStored(under, 'u1', 'a1', 'u2')
    },
  )

  rule(
    'M5 an object that is named twice is kept twice, and keys that are special to JavaScript are data',
    async (under) => {
      const shared = { deep: [1, 'two', null] }
      const special = JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":"x"}')
      await under.memory.save([user('u1', 'x', { metadata: { one: shared, two: shared, special } })])
      const metadata = (await (await under.open()).load())[0]?.metadata
      expect([metadata?.one, metadata?.two]).toEqual([shared, shared])
      expect(sortedKeys(metadata?.special)).toEqual(sortedKeys(special))
      expect(({} as { polluted?: boolean }).polluted).toBe(undefined)
    },
  )

  rule(
    'M1 clear empties the session, also for other tabs',
    async (under) => {
      await under.memory.save(history())
      await under.memory.clear?.()
      expect(await under.memory.load()).toEqual([])
      await expectStored(under)
      await under.memory.save([user('u2', 'anew')])
      await expectStored(under, 'u2')
    },
    supports.clear,
  )

  for (const order of ['before', 'after'] as const) {
    rule(
      `H6 clear empties the session, also when it comes ${order} the save of nothing that belongs to it`,
      async (under) => {
        const memory = await after(under, history())
        await memory.load()
        if (order === 'before') await memory.clear?.()
        await memory.save([])
        if (order === 'after') await memory.clear?.()
        await expectStored(under)
      },
      supports.clear,
    )
  }

  rule(
    'M2 M13 a signal that is aborted already refuses load, save and clear, and nothing changes',
    async (under) => {
      const { memory } = under
      const signal = AbortSignal.abort(new Error('enough'))
      await memory.save(history())
      await expectRejection(() => memory.load({ signal }))
      await expectRejection(() => memory.save([user('u9', 'late')], { signal }))
      if (memory.clear) await expectRejection(() => memory.clear?.({ signal }))
      await expectStored(under, 'u1', 'a1')
    },
    supports.signals,
  )

  rule(
    'G10 sessions do not touch each other',
    async (under) => {
      const { memory, otherSession } = under
      if (!otherSession) throw new Error('create() has to give otherSession where supports.sessions is true')
      await memory.save(history())
      expect(await otherSession.load()).toEqual([])
      await otherSession.save([user('u1', 'another')])
      await otherSession.clear?.()
      await expectStored(under, 'u1', 'a1')
    },
    supports.sessions,
  )
}

/** The memory under test beside a history that it did not load or save itself. */
async function after({ memory, open }: ChatMemoryUnderTest, list: Message[]): Promise<ChatMemory> {
  const earlier = await open()
  await earlier.load()
  await earlier.save(list)
  return memory
}

function idsOf(list: readonly Message[]): string[] {
  return list.map(({ id }) => id)
}

function sortedKeys(value: unknown): string[] {
  return Object.keys(value as object).sort()
}
