import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as Y from 'yjs'
import type { Message } from '../../../src/contract/chat-message.ts'
import { createDevice, message, settled, type Tab } from './tabs.ts'

/** As a server does: each gets what it lacks of the other. */
async function exchange(a: Tab, b: Tab): Promise<void> {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    const { doc } = await to.store.document('s1')
    await to.store.documents.receive('s1', [await from.store.documents.missing('s1', Y.encodeStateVector(doc))])
  }
}

async function twoDevices(): Promise<[Tab, Tab]> {
  return [await createDevice().openTab(), await createDevice().openTab()]
}

const load = (tab: Tab) => tab.memory().load()
const shape = (list: readonly Message[]) => list.map(({ id, content }) => [id, content])

test('G5 two devices that wrote offline read the same afterwards, each turn in one piece', async () => {
  const [a, b] = await twoDevices()
  await a.memory().save([message('u1', 'from a'), message('a1', 'answer a')])
  await b.memory().save([message('u2', 'from b'), message('a2', 'answer b')])
  await exchange(a, b)
  const seen = shape(await load(a))
  expect(shape(await load(b))).toEqual(seen)
  expect(seen.map(([id]) => id).join(' ')).toMatch(/^(u1 a1 u2 a2|u2 a2 u1 a1)$/)
})

test('H14 a tool answer is read right behind its call, whatever was merged between', async () => {
  for (let round = 0; round < 8; round++) {
    const [a, b] = await twoDevices()
    const call = { id: 'c1', name: 'refund', args: {}, status: 'complete' as const, result: 'ok' }
    await a.memory().save([message('u1', 'refund'), message('a1', '', { toolCalls: [call] })])
    await exchange(a, b)
    const [mine, theirs] = [await load(a), await load(b)]
    const tool = message('t1', 'ok', { role: 'tool', toolCallId: 'c1' })
    await a.memory().save([...mine, tool])
    await a.memory().save([...mine, tool, message('a2', 'done')])
    await b.memory().save([...theirs, message('u2', 'meanwhile'), message('a3', 'yes?')])
    await exchange(a, b)
    const seen = (await load(a)).map(({ id }) => id)
    expect((await load(b)).map(({ id }) => id)).toEqual(seen)
    expect(seen.slice(1, 4)).toEqual(['a1', 't1', 'a2'])
    expect(seen.indexOf('a3')).toBe(seen.indexOf('u2') + 1)
  }
})

test('I8 H17 equal ids with different content are two messages, named alike on every device', async () => {
  const [a, b] = await twoDevices()
  await a.memory().save([message('m1', 'of a', { role: 'user' })])
  await b.memory().save([message('m1', 'of b', { role: 'user' })])
  await exchange(a, b)
  const seen = shape(await load(a))
  expect(shape(await load(b))).toEqual(seen)
  const [device] = await Promise.all([(seen[0]?.[1] === 'of a' ? b : a).database.meta()])
  expect(seen.map(([id]) => id)).toEqual(['m1', `m1:${device.device}`])
})

test('I8 the controller that knows its message by the old id goes on writing into its own', async () => {
  for (let round = 0; round < 8; round++) {
    const [a, b] = await twoDevices()
    const question = message('q', 'go', { role: 'user' })
    const own = (content: string) => message('m1', content, { status: 'streaming' })
    await a.memory().save([question, own('of a')])
    await b.memory().save([message('m1', 'of b', { status: 'streaming' })])
    await exchange(a, b)
    await a.memory().save([question, own('of a, and more')])
    await exchange(a, b)
    const contents = (await load(b)).map(({ content }) => content).sort()
    expect(contents).toEqual(['go', 'of a, and more', 'of b'])
    const loaded = await load(b)
    const late = loaded.find(({ content }) => content.startsWith('of a')) as Message
    await b.memory().save(loaded.map((each) => (each === late ? { ...late, content: 'edited by b' } : each)))
    await exchange(a, b)
    expect((await load(a)).map(({ content }) => content).sort()).toEqual(['edited by b', 'go', 'of b'])
  }
})

test('I8 equal ids with equal content are one message, and stay gone when removed', async () => {
  const [a, b] = await twoDevices()
  const welcome = message('welcome', 'How can I help?')
  await a.memory().save([welcome])
  await b.memory().save([{ ...welcome }])
  await exchange(a, b)
  expect(shape(await load(a))).toEqual([['welcome', 'How can I help?']])
  await a.memory().save([message('u1', 'hi'), ...(await load(a))].slice(0, 1))
  await a.memory().clear()
  await exchange(a, b)
  expect(await load(a)).toEqual([])
  expect(await load(b)).toEqual([])
})

test('I8 a message that is edited is edited with its hidden twin, and one that becomes another is read as one', async () => {
  const [a, b] = await twoDevices()
  await a.memory().save([message('w', 'hello')])
  await b.memory().save([message('w', 'hello')])
  await exchange(a, b)
  await a.memory().save((await load(a)).map((each) => ({ ...each, content: 'hello there' })))
  expect(shape(await load(a))).toEqual([['w', 'hello there']])
  expect(a.texts()).toEqual(['hello there'])
  const { doc } = await a.store.document('s1')
  const second = doc.getArray<Y.Map<Y.Text>>('messages').get(1)
  second.get('content')?.insert(0, 'oh, ')
  expect(a.texts()).toEqual(['hello there', 'oh, hello there'])
})

test('I8 a removed message takes its hidden twin with it', async () => {
  const [a, b] = await twoDevices()
  await a.memory().save([message('w', 'hello'), message('u1', 'x')])
  await b.memory().save([message('w', 'hello')])
  await exchange(a, b)
  const list = await load(a)
  await a.memory().save(list.filter(({ id }) => id !== 'w'))
  expect(shape(await load(a))).toEqual([['u1', 'x']])
})

test('G9 a malformed message of another device is left out and reported, and the others are read', async () => {
  const [a, b] = await twoDevices()
  await a.memory().save([message('u1', 'fine')])
  const { doc } = await b.store.document('s1')
  doc.getArray('messages').insert(0, ['text', 7, { id: 'x' }, new Y.Map([['id', 'u1']]), new Y.Array()])
  doc.getText('elsewhere').insert(0, 'ignored')
  await exchange(a, b)
  expect(shape(await load(a))).toEqual([['u1', 'fine']])
  expect(a.problems).toHaveLength(5)
  expect(new Set(a.problems.map((problem) => (problem as { code?: string }).code))).toEqual(
    new Set(['storage-corrupt']),
  )
  await a.memory().save([...(await load(a)), message('u2', 'goes on')])
  await exchange(a, b)
  expect(shape(await load(b))).toEqual([
    ['u1', 'fine'],
    ['u2', 'goes on'],
  ])
})

test('F62 an update of the server that is none is left out and reported, and the others arrive', async () => {
  const [a, b] = await twoDevices()
  await a.memory().save([message('u1', 'fine')])
  const { doc } = await b.store.document('s1')
  const good = await a.store.documents.missing('s1', Y.encodeStateVector(doc))
  await b.store.documents.receive('s1', [new Uint8Array([9, 9, 9]), good, good.slice(0, good.length - 3)])
  expect(shape(await load(b))).toEqual([['u1', 'fine']])
  expect(b.problems).toMatchObject([{ code: 'storage-corrupt' }, { code: 'storage-corrupt' }])
})

/** What a controller does to its list, in any order on any device. */
type Step = { readonly who: number; readonly what: 'send' | 'stream' | 'drop' | 'edit' | 'reload' | 'sync' | 'clear' }

test('G5 G7 whatever two devices and three tabs do, they read the same in the end, and nobody removed what it never saw', async () => {
  const step = fc.record<Step>({
    who: fc.nat(2),
    what: fc.constantFrom('send', 'send', 'stream', 'stream', 'edit', 'drop', 'reload', 'sync', 'sync'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 24 }), async (steps) => {
      const laptop = createDevice()
      const tabs = [await laptop.openTab(), await laptop.openTab(), await createDevice().openTab()] as const
      const lists: Message[][] = await Promise.all(tabs.map(load))
      const dropped = new Set<string>()
      const made = new Set<string>()
      let count = 0
      for (const { who, what } of steps) {
        const tab = tabs[who] as Tab
        const list = lists[who] as Message[]
        const last = list.at(-1)
        let next = list
        if (what === 'send')
          next = [...list, message(`u${++count}`, 'say'), message(`a${count}`, '', { status: 'streaming' })]
        if (what === 'stream' && last) next = list.with(-1, { ...last, content: `${last.content}\u{1f600}more` })
        if (what === 'edit' && list[0]) next = list.with(0, { ...list[0], content: `edited ${list[0].content}` })
        if (what === 'drop') next = list.slice(0, -1)
        if (what === 'reload') next = await load(tab)
        if (what === 'sync') {
          await settled()
          await exchange(tabs[0], tabs[2])
          await settled()
        }
        for (const { id } of next) made.add(id)
        if (what === 'drop' && last && next.length > 0) dropped.add(last.id)
        lists[who] = next
        await tab.memory().save(next)
      }
      await settled()
      await exchange(tabs[0], tabs[2])
      await exchange(tabs[0], tabs[2])
      await settled()
      const seen = await Promise.all(tabs.map(load))
      expect(shape(seen[1] ?? [])).toEqual(shape(seen[0] ?? []))
      expect(shape(seen[2] ?? [])).toEqual(shape(seen[0] ?? []))
      const left = new Set(seen[0]?.map(({ id }) => id))
      for (const id of made) if (!dropped.has(id)) expect(left).toContain(id)
      expect(left.size).toBe(seen[0]?.length)
      const again = await load(await laptop.openTab())
      expect(shape(again)).toEqual(shape(seen[0] ?? []))
    }),
    { numRuns: 40 },
  )
})
