import { expect, test } from 'vitest'
import type { Message } from '../../../src/contract/chat-message.ts'
import { RejoinError } from '../../../src/errors.ts'
import { createDevice, message, settled, type Tab } from './tabs.ts'

/** A tab with a history on disk that it has not loaded. */
async function tabWithHistory(
  ...list: Message[]
): Promise<{ tab: Tab; other: Tab; device: ReturnType<typeof createDevice> }> {
  const device = createDevice()
  const other = await device.openTab()
  await other.memory().load()
  await other.memory().save(list)
  return { tab: await device.openTab(), other, device }
}

const history = () => [message('u1', 'one'), message('a1', 'two')]
const ids = (list: readonly Message[]) => list.map(({ id }) => id)
const stored = async (tab: Tab, sessionId = 's1') => ids(await tab.memory(sessionId).load())

test('M1 an empty session loads as an empty list, and what was saved loads again', async () => {
  const tab = await createDevice().openTab()
  const memory = tab.memory()
  expect(await memory.load()).toEqual([])
  const list = [message('u1', 'hello'), message('a1', 'hi', { metadata: { model: 'm' } })]
  await memory.save(list)
  const loaded = await memory.load()
  expect(loaded).toEqual(list)
  expect(await memory.load()).not.toBe(loaded)
})

test('CM3 the order of a list is kept, also of a tool answer that stands behind another turn', async () => {
  const { tab } = await tabWithHistory(
    message('u1', 'refund'),
    message('a1', '', { toolCalls: [{ id: 'c1', name: 'refund', args: {}, status: 'requires_confirmation' }] }),
    message('u2', 'meanwhile'),
    message('a2', 'yes?'),
    message('t1', 'done', { role: 'tool', toolCallId: 'c1' }),
    message('a3', 'refunded'),
  )
  expect(await stored(tab)).toEqual(['u1', 'a1', 'u2', 'a2', 't1', 'a3'])
})

test('changing what was loaded or saved changes nothing that is kept', async () => {
  const { tab } = await tabWithHistory(...history())
  const memory = tab.memory()
  const args = { amount: 1 }
  const list = [
    ...(await memory.load()),
    message('a2', '', { toolCalls: [{ id: 'c', name: 'n', args, status: 'running' }] }),
  ]
  const saved = memory.save(list)
  args.amount = 2
  list.length = 0
  await saved
  const loaded = await memory.load()
  expect(loaded.at(-1)?.toolCalls?.[0]?.args).toEqual({ amount: 1 })
  Object.assign(loaded[0] as object, { content: 'spoiled' })
  loaded[0]?.createdAt.setTime(0)
  expect((await memory.load())[0]).toMatchObject({ content: 'one' })
  expect((await memory.load())[0]?.createdAt.getTime()).not.toBe(0)
})

test('H1 a save of nothing before the load resolves wipes nothing', async () => {
  const { tab } = await tabWithHistory(...history())
  const memory = tab.memory()
  const loading = memory.load()
  await memory.save([])
  expect(ids(await loading)).toEqual(['u1', 'a1'])
  await memory.save([]) // a second mount does the same again
  expect(await stored(tab)).toEqual(['u1', 'a1'])
})

test('H1 a save of nothing waits for nothing, not even for storage', async () => {
  const tab = await createDevice().openTab({
    wrap: (database) => ({ ...database, read: () => new Promise(() => {}) }),
  })
  await tab.memory().save([])
})

test('H2 keystrokes save the same list again and again, and nothing is written', async () => {
  const { tab, other } = await tabWithHistory(...history())
  const memory = tab.memory()
  const list = await memory.load()
  const before = await other.database.lastSeq('s1')
  for (let key = 0; key < 5; key++) await memory.save(list)
  await memory.save([...list])
  expect(await other.database.lastSeq('s1')).toBe(before)
})

test('H3 a first turn that is sent before the history has come goes behind it', async () => {
  const { tab } = await tabWithHistory(...history())
  const memory = tab.memory()
  const loading = memory.load()
  await memory.save([message('u2', 'quick'), message('a2', '', { status: 'streaming' })])
  await loading
  expect(await stored(tab)).toEqual(['u1', 'a1', 'u2', 'a2'])
})

test('H4 a load that failed can be called again, and a save in between replaces nothing', async () => {
  const { device } = await tabWithHistory(...history())
  let fails = true
  const tab = await device.openTab({
    wrap: (database) => ({
      ...database,
      updates: (...args) =>
        fails ? Promise.reject(new RejoinError('storage-unavailable', 'Locked.')) : database.updates(...args),
    }),
  })
  await expect(tab.memory().load()).rejects.toMatchObject({ code: 'storage-unavailable' })
  expect(tab.store.messages('s1').problem()).toMatchObject({ code: 'storage-unavailable' })
  fails = false
  await tab.memory().save([message('u2', 'after')])
  expect(await stored(tab)).toEqual(['u1', 'a1', 'u2'])
  expect(tab.store.messages('s1').problem()).toBeUndefined()
})

test('I4 a first load that did not come rejects with not-loaded, and the next call asks again', async () => {
  let answers = false
  const tab = await createDevice().openTab({
    firstLoad: async () => {
      if (!answers) throw new RejoinError('not-loaded', 'The server did not answer.')
    },
  })
  await expect(tab.memory().load()).rejects.toMatchObject({ code: 'not-loaded' })
  answers = true
  expect(await tab.memory().load()).toEqual([])
})

test('I4 a load is bounded also where the first load is not', async () => {
  const device = createDevice()
  const tab = await device.openTab({ firstLoad: () => new Promise(() => {}) })
  const loading = tab.memory().load()
  const refused = expect(loading).rejects.toMatchObject({ code: 'not-loaded' })
  await settled()
  device.clock.advance(8000)
  await refused
})

test('H9 a save needs no first load: it never waits for the network', async () => {
  const tab = await createDevice().openTab({ firstLoad: () => new Promise(() => {}) })
  await tab.memory().save([message('u1', 'offline')])
  expect(await tab.database.lastSeq('s1')).toBe(1)
})

test('G7 H5 a stale tab that saves its list removes nothing that it never saw', async () => {
  const { tab, other } = await tabWithHistory(...history())
  const list = await tab.memory().load()
  await other
    .memory()
    .save([...(await other.memory().load()), message('u2', 'from the other'), message('a2', 'answer')])
  await settled()
  await tab.memory().save([...list, message('u3', 'from the stale one')])
  expect(await stored(tab)).toEqual(['u1', 'a1', 'u2', 'a2', 'u3'])
})

test('F34 two tabs that both append keep everything once, in one order', async () => {
  const device = createDevice()
  const tabs = [await device.openTab(), await device.openTab()]
  const lists = await Promise.all(tabs.map((tab) => tab.memory().load()))
  for (let turn = 0; turn < 50; turn++) {
    await Promise.all(
      tabs.map((tab, at) => {
        lists[at] = [...(lists[at] ?? []), message(`u${turn}-${at}`, `${turn} of ${at}`)]
        return tab.memory().save(lists[at] ?? [])
      }),
    )
    if (turn % 3 === 0) await settled()
  }
  await settled()
  const seen = await Promise.all(tabs.map((tab) => stored(tab)))
  expect(seen[0]).toHaveLength(100)
  expect(new Set(seen[0]).size).toBe(100)
  expect(seen[1]).toEqual(seen[0])
  expect(await stored(await device.openTab())).toEqual(seen[0])
})

test('H6 a regenerated answer takes the place of the old one', async () => {
  const { tab } = await tabWithHistory(...history())
  const list = await tab.memory().load()
  await tab.memory().save([list[0] as Message, message('a9', 'better')])
  expect(await stored(tab)).toEqual(['u1', 'a9'])
})

test('H6 an edited user message drops what came after it', async () => {
  const { tab } = await tabWithHistory(...history(), message('u2', 'three'))
  const [first] = await tab.memory().load()
  await tab.memory().save([{ ...(first as Message), content: 'one, edited' }])
  const left = await tab.memory().load()
  expect(left.map(({ id, content }) => [id, content])).toEqual([['u1', 'one, edited']])
})

test('H6 clear empties the session, whether its own save of nothing comes before or after', async () => {
  for (const clearFirst of [true, false]) {
    const { tab } = await tabWithHistory(...history())
    const memory = tab.memory()
    await memory.load()
    if (clearFirst) await memory.clear()
    await memory.save([])
    if (!clearFirst) await memory.clear()
    expect(await memory.load()).toEqual([])
  }
})

test('H6 clear removes what the document shows, and not what another device wrote meanwhile', async () => {
  const { tab, other } = await tabWithHistory(...history())
  const list = await other.memory().load()
  await tab.memory().load()
  await Promise.all([tab.memory().clear(), other.memory().save([...list, message('u2', 'at the same time')])])
  await settled()
  expect(await stored(tab)).toEqual(['u2'])
})

test('what was cleared does not come back with a save of its old list', async () => {
  const { tab } = await tabWithHistory(...history())
  const list = await tab.memory().load()
  await tab.memory().clear()
  await tab.memory().save([...list, message('u2', 'late')])
  expect(await stored(tab)).toEqual(['u2'])
})

test('what its own caller dropped comes back when that caller lists it again', async () => {
  const { tab } = await tabWithHistory(...history())
  const list = await tab.memory().load()
  await tab.memory().save(list.slice(0, 1))
  expect(await stored(tab)).toEqual(['u1'])
  await tab.memory().save(list)
  expect(await stored(tab)).toEqual(['u1', 'a1'])
})

test('what another tab removed stays removed, also for a caller that still lists and changes it', async () => {
  const { tab, other } = await tabWithHistory(...history())
  const list = await tab.memory().load()
  await other.memory().save((await other.memory().load()).slice(0, 1))
  await settled()
  await tab
    .memory()
    .save([list[0] as Message, { ...(list[1] as Message), content: 'two and more' }, message('u2', 'x')])
  expect(await stored(tab)).toEqual(['u1', 'u2'])
})

test('H7 a conversation that is saved into the memory of another is refused, and nothing is written', async () => {
  const { tab } = await tabWithHistory(...history())
  const foreign = await tab.memory('s1').load()
  await tab.memory('s2').load()
  const saving = tab.memory('s2').save([...foreign, message('u9', 'meant for s1')])
  await expect(saving).rejects.toMatchObject({ code: 'refused' })
  expect(tab.store.messages('s2').problem()).toMatchObject({ code: 'refused' })
  expect(await stored(tab, 's2')).toEqual([])
  expect(await tab.database.lastSeq('s2')).toBe(0)
})

test('H7 the same with objects that the other memory only saw saved, or that its reader shows', async () => {
  const tab = await createDevice().openTab()
  const list = history()
  await tab.memory('s1').save(list)
  await expect(tab.memory('s2').save(list)).rejects.toMatchObject({ code: 'refused' })
  await expect(tab.memory('s2').save([...tab.store.messages('s1').get()])).rejects.toMatchObject({ code: 'refused' })
  expect(await stored(tab, 's2')).toEqual([])
})

test('H7 copies are a fork, and a message moved into a list of its own is inserted there', async () => {
  const tab = await createDevice().openTab()
  await tab.memory('s1').save(history())
  const [one] = await tab.memory('s1').load()
  await tab.memory('s2').save((await tab.memory('s1').load()).map((each) => ({ ...each })))
  await tab.memory('s3').save([message('u7', 'own')])
  await tab.memory('s3').save([...(await tab.memory('s3').load()), one as Message])
  expect(await stored(tab, 's2')).toEqual(['u1', 'a1'])
  expect(await stored(tab, 's3')).toEqual(['u7', 'u1'])
  await tab.memory('s1').save([{ ...(one as Message), content: 'edited' }, ...(await tab.memory('s1').load()).slice(1)])
  expect((await tab.memory('s3').load())[1]?.content).toBe('one')
})

test('H8 there is one memory for each session, however often it is asked for', async () => {
  const tab = await createDevice().openTab()
  expect(tab.memory('s1')).toBe(tab.memory('s1'))
  expect(tab.memory('s1')).not.toBe(tab.memory('s2'))
  expect(tab.store.messages('s1')).toBe(tab.store.messages('s1'))
})

test('H8 two controllers of one tab have each its own knowledge', async () => {
  const { tab } = await tabWithHistory(...history())
  const memory = tab.memory()
  const [first, second] = [await memory.load(), await memory.load()]
  await memory.save([...first, message('u2', 'of the first')])
  await memory.save([...second, message('u3', 'of the second')])
  await memory.save(first.slice(0, 1).concat(first.slice(1), [message('u4', 'of the first, which dropped u2')]))
  expect(await stored(tab)).toEqual(['u1', 'a1', 'u3', 'u4'])
})

test('H9 a save ends within 5 s also when storage never answers, and is written when it does', async () => {
  const device = createDevice()
  let answer: (() => void) | undefined
  const tab = await device.openTab({
    wrap: (database) => ({
      ...database,
      async transactUpdates(...args) {
        await new Promise<void>((resolve) => {
          answer = resolve
        })
        return database.transactUpdates(...args)
      },
    }),
  })
  await tab.memory().load()
  const saving = tab.memory().save([message('u1', 'hello')])
  const refused = expect(saving).rejects.toMatchObject({ code: 'storage-unavailable' })
  await settled()
  device.clock.advance(5000)
  await refused
  answer?.()
  await settled()
  expect(await tab.database.lastSeq('s1')).toBe(1)
})

test('H10 a save that failed says so in its rejection, in problem() and to onProblem', async () => {
  const tab = await createDevice().openTab()
  const bad = message('u1', 'x', { metadata: { big: 1n } })
  await expect(tab.memory().save([bad])).rejects.toMatchObject({ code: 'refused' })
  expect(tab.store.messages('s1').problem()).toMatchObject({ code: 'refused' })
  expect(tab.problems).toMatchObject([{ code: 'refused' }])
  await tab.memory().save([message('u1', 'x')])
  expect(tab.store.messages('s1').problem()).toBeUndefined()
})

test('M4 one bad message in a list: nothing of the list is written', async () => {
  const { tab } = await tabWithHistory(...history())
  const list = await tab.memory().load()
  const bad = [message('u2', 'fine'), ...list.slice(1), message('u3', 'x', { role: 'robot' as never })]
  await expect(tab.memory().save(bad)).rejects.toMatchObject({ code: 'refused' })
  await expect(tab.memory().save([...list, null as never])).rejects.toMatchObject({ code: 'refused' })
  await expect(tab.memory().save([7 as never])).rejects.toMatchObject({ code: 'refused' })
  await expect(tab.memory('s2').save([null as never])).rejects.toMatchObject({ code: 'refused' })
  await expect(tab.memory().save({} as never)).rejects.toMatchObject({ code: 'refused' })
  expect(await stored(tab)).toEqual(['u1', 'a1'])
})

test('M2 an aborted signal ends load, save and clear with its reason, and nothing changes', async () => {
  const { tab } = await tabWithHistory(...history())
  const memory = tab.memory()
  const reason = new Error('navigated away')
  const signal = AbortSignal.abort(reason)
  await expect(memory.load({ signal })).rejects.toBe(reason)
  await expect(memory.save([message('u9', 'x')], { signal })).rejects.toBe(reason)
  await expect(memory.save([], { signal })).rejects.toBe(reason)
  await expect(memory.clear({ signal })).rejects.toBe(reason)
  expect(await stored(tab)).toEqual(['u1', 'a1'])
})

test('M2 a signal that aborts while the document is opened ends the save before it writes', async () => {
  const { tab } = await tabWithHistory(...history())
  const abort = new AbortController()
  const saving = tab.memory().save([message('u9', 'x')], { signal: abort.signal })
  abort.abort(new Error('navigated away'))
  await expect(saving).rejects.toThrow('navigated away')
  expect(await stored(tab)).toEqual(['u1', 'a1'])
})

test('H12 remote messages that a host feeds into its list are known, and saving them writes nothing', async () => {
  const { tab, other } = await tabWithHistory(...history())
  const own = await tab.memory().load()
  await other.memory().save([...(await other.memory().load()), message('u2', 'remote')])
  await settled()
  const seqs = await tab.database.lastSeq('s1')
  const fed = tab.store.messages('s1').get()
  await tab.memory().save([...fed])
  await tab.memory().save([...own, ...fed.slice(2)])
  expect(await tab.database.lastSeq('s1')).toBe(seqs)
  await tab.memory().save([...own]) // and what it knew and dropped is removed
  expect(await stored(tab)).toEqual(['u1', 'a1'])
})

test('H12 a fed list that lags behind the stream writes no old text over it', async () => {
  const { tab } = await tabWithHistory(message('u1', 'go'))
  const own = await tab.memory().load()
  const memory = tab.memory()
  const streaming = (content: string) => message('a1', content, { status: 'streaming' })
  await memory.save([...own, streaming('hel')])
  const lagging = [...tab.store.messages('s1').get()]
  await memory.save([...own, streaming('hello')])
  await memory.save(lagging)
  expect(tab.texts()).toEqual(['go', 'hello'])
  await memory.save([...lagging.slice(0, 1), { ...(lagging[1] as Message), content: 'hello world' }])
  expect(tab.texts()).toEqual(['go', 'hello world'])
})

test('H12 a message of an older reading, put into a list that went on, takes nothing back', async () => {
  const tab = await createDevice().openTab()
  const memory = tab.memory()
  const question = message('u1', 'go')
  await memory.save([question, message('a1', 'hel', { status: 'streaming' })])
  const older = tab.store.messages('s1').get()[1] as Message
  await memory.save([question, message('a1', 'hello')])
  await memory.save([question, older])
  expect((await memory.load())[1]).toMatchObject({ content: 'hello', status: 'complete' })
})

test('H12 what another tab did already is not written again', async () => {
  const { tab, other } = await tabWithHistory(message('a1', 'text', { status: 'streaming' }))
  const [ours, theirs] = [await tab.memory().load(), await other.memory().load()]
  const done = (list: readonly Message[]) => list.map((each) => ({ ...each, status: 'complete' as const }))
  await other.memory().save(done(theirs))
  await settled()
  const seqs = await tab.database.lastSeq('s1')
  await tab.memory().save(done(ours))
  expect(await tab.database.lastSeq('s1')).toBe(seqs)
})

test('G7 a fed list that is older than what another chat of the tab has loaded removes nothing', async () => {
  const { tab, other } = await tabWithHistory(...history())
  await tab.store.messages('s1').whenLoaded()
  const fed = [...tab.store.messages('s1').get()]
  await other.memory().save([...(await other.memory().load()), message('u2', 'remote')])
  await settled()
  await tab.memory().load()
  await tab.memory().save(fed)
  expect(await stored(tab)).toEqual(['u1', 'a1', 'u2'])
})

test('F57 a fed list that still shows what another tab removed does not bring it back', async () => {
  const { tab, other } = await tabWithHistory(...history())
  await tab.memory().load()
  const fed = [...tab.store.messages('s1').get()]
  await other.memory().save((await other.memory().load()).slice(0, 1))
  await settled()
  await tab.memory().save(fed)
  expect(await stored(tab)).toEqual(['u1'])
})

test('G7 a new chat of a tab that has saved before removes nothing with its first turn', async () => {
  const tab = await createDevice().openTab()
  await tab.memory().save(history())
  await tab.memory().save([message('u9', 'another chat, which has not loaded yet')])
  expect(await stored(tab)).toEqual(['u1', 'a1', 'u9'])
})

test('I8 H17 a first save with an id that says something else here is a second message', async () => {
  const { tab } = await tabWithHistory(message('m1', 'of the other tab'))
  await tab.memory().save([message('m1', 'of this one')])
  expect((await tab.memory().load()).map(({ content }) => content)).toEqual(['of the other tab', 'of this one'])
  expect(new Set(await stored(tab)).size).toBe(2)
})

test('H16 a wrapper that loads before its first save and copies everything removes nothing either', async () => {
  const { tab, other } = await tabWithHistory(...history())
  const memory = tab.memory()
  const known = await memory.load()
  await other.memory().save([...(await other.memory().load()), message('u2', 'remote')])
  await settled()
  await memory.load()
  await memory.save([...known.map((each) => ({ ...each })), message('u3', 'own')])
  expect(await stored(tab)).toEqual(['u1', 'a1', 'u2', 'u3'])
})

test('H16 a wrapper that hands on copies of everything edits, appends and removes as others do', async () => {
  const { tab, other } = await tabWithHistory(...history())
  const copy = (list: readonly Message[]) => list.map((each) => ({ ...each, metadata: { iv: Math.random() } }))
  const memory = tab.memory()
  const list = [...(await memory.load()), message('u2', 'three'), message('a2', 'fo', { status: 'streaming' })]
  await memory.save(copy(list))
  await other.memory().save([...(await other.memory().load()), message('u5', 'remote')])
  await settled()
  await memory.save(copy([...list.slice(0, 3), message('a2', 'four')]))
  expect((await memory.load()).map(({ content }) => content)).toEqual(['one', 'two', 'three', 'four', 'remote'])
  await memory.save(copy([...list.slice(0, 3), message('a3', 'five')]))
  expect(await stored(tab)).toEqual(['u1', 'a1', 'u2', 'a3', 'u5'])
})

test('H16 a wrapper that loads before each save removes nothing that its caller never saw', async () => {
  const { tab, other } = await tabWithHistory(...history())
  const memory = tab.memory()
  const known = await memory.load()
  await other.memory().save([...(await other.memory().load()), message('u2', 'remote')])
  await settled()
  const [cold] = await memory.load()
  await memory.save([cold as Message, ...known.slice(1), message('u3', 'own')])
  expect(await stored(tab)).toEqual(['u1', 'a1', 'u2', 'u3'])
})

test('H18 a server that loads, answers without a memory and saves all keeps every message', async () => {
  const { tab } = await tabWithHistory(...history())
  const signal = new AbortController().signal
  const list = await tab.memory().load({ signal })
  await tab.memory().save([...list, message('u2', 'q'), message('a2', 'a')], { signal })
  expect(await stored(tab)).toEqual(['u1', 'a1', 'u2', 'a2'])
})

test('H19 a stream that saves its whole text for each token writes only the tokens', async () => {
  const tab = await createDevice().openTab()
  const memory = tab.memory()
  const question = message('u1', 'tell')
  await memory.load()
  let content = ''
  for (let token = 0; token < 100; token++) {
    content += `token ${token} `
    await memory.save([question, message('a1', content, { status: 'streaming', metadata: { reasoning: content } })])
  }
  await memory.save([question, message('a1', content, { metadata: { reasoning: content } })])
  const rows = await tab.database.updates('s1')
  const bytes = rows.slice(1).reduce((sum, row) => sum + row.bytes.length, 0)
  expect(bytes / 100).toBeLessThan(120)
  expect((await memory.load())[1]).toMatchObject({ content, status: 'complete', metadata: { reasoning: content } })
})

test('an emoji that is streamed in halves never shows as half', async () => {
  const device = createDevice()
  const [a, b] = [await device.openTab(), await device.openTab()]
  await Promise.all([a.memory().load(), b.memory().load()])
  const text = 'a\u{1f600}b\u{1f9d1}'
  for (let length = 1; length <= text.length; length++) {
    await a.memory().save([message('a1', text.slice(0, length), { status: 'streaming' })])
    await settled()
    expect(b.texts()[0]).not.toMatch(/\ufffd|\p{Surrogate}/u)
  }
  expect(b.texts()).toEqual([text])
})

test('F55 two equal texts that were meant twice stay two, and a turn that is saved again stays one', async () => {
  const tab = await createDevice().openTab()
  const list = [message('u1', 'ok'), message('u2', 'ok')]
  await tab.memory().load()
  for (let time = 0; time < 50; time++) await tab.memory().save(list.map((each) => ({ ...each })))
  expect(await stored(tab)).toEqual(['u1', 'u2'])
})

test('F66 regenerate and edit write the turn and not the history', async () => {
  const long = Array.from({ length: 200 }, (_, at) => message(`u${at}`, `message ${at}`))
  const { tab } = await tabWithHistory(...long)
  const list = await tab.memory().load()
  const before = await tab.database.lastSeq('s1')
  await tab.memory().save([...list.slice(0, -1), message('a9', 'new')])
  const rows = await tab.database.updates('s1', { afterSeq: before })
  expect(rows).toHaveLength(1)
  expect(rows[0]?.bytes.length).toBeLessThan(300)
})

test('the same messages may be reordered by their caller', async () => {
  const { tab, other } = await tabWithHistory(message('u1', '1'), message('u2', '2'), message('u3', '3'))
  const [one, two, three] = (await tab.memory().load()) as [Message, Message, Message]
  const second = await tab.memory().load()
  await tab.memory().save([three, one, two])
  expect(await stored(tab)).toEqual(['u3', 'u1', 'u2'])
  await tab.memory().save(second.with(2, { ...(second[2] as Message), content: '3, edited by another chat' }))
  expect(tab.texts()).toEqual(['3, edited by another chat', '1', '2'])
  await tab.memory().save([three, one, { ...two, content: '2!' }])
  await settled()
  expect(other.texts()).toEqual(['3, edited by another chat', '1', '2!'])
})
