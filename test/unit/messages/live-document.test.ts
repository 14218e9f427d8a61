import { expect, test } from 'vitest'
import * as Y from 'yjs'
import type { Message } from '../../../src/contract/chat-message.ts'
import type { SessionRow } from '../../../src/core/device-session.ts'
import { createSessionRow } from '../../../src/core/save-snapshot.ts'
import { RejoinError } from '../../../src/errors.ts'
import type { Database } from '../../../src/storage/database.ts'
import { createDevice, message, settled, type Tab } from './tabs.ts'

const rows = (tab: Tab) => tab.database.updates('s1')
const row = async (tab: Tab) => (await tab.database.read('s1')).row
const put = (tab: Tab, next: SessionRow | null, removeUpdates?: string) =>
  tab.database.transact('s1', 'strict', () => ({
    change: { row: next, ...(removeUpdates !== undefined && { removeUpdates: [removeUpdates] }) },
    result: undefined,
  }))

/** The update of another device's first message. */
function foreignUpdate(id = 'x1'): Uint8Array {
  const doc = new Y.Doc()
  const map = new Y.Map<unknown>(
    Object.entries({ id, role: 'user', status: 'complete', createdAt: '2026-01-01T00:00:00.000Z', device: 'far' }),
  )
  map.set('content', new Y.Text(`text of ${id}`))
  doc.getArray('messages').insert(0, [map])
  return Y.encodeStateAsUpdate(doc)
}

/** Counts the transactions of a database, and fails them while told to. */
function watched() {
  const seen = { transactions: [] as number[], attempts: 0, failure: undefined as RejoinError | undefined }
  const wrap = (database: Database): Database => ({
    ...database,
    transactUpdates: (sessionId, durability, decide) => {
      seen.attempts++
      if (seen.failure) return Promise.reject(seen.failure)
      return database.transactUpdates(sessionId, durability, (session) => {
        const decided = decide(session)
        seen.transactions.push(decided.append?.bytes.length ?? 0)
        return decided
      })
    },
  })
  return { seen, wrap }
}

test('I1 the first message makes the row and its incarnation, in the same transaction', async () => {
  const tab = await createDevice().openTab()
  await tab.memory().load()
  expect(await row(tab)).toBeUndefined()
  await tab.memory().save([message('u1', 'hello')])
  const made = await row(tab)
  expect(made).toEqual(createSessionRow('s1', made?.incarnation ?? ''))
  expect(await rows(tab)).toMatchObject([{ seq: 1, origin: 'local', incarnation: made?.incarnation }])
  expect((await tab.store.document('s1')).incarnation).toBe(made?.incarnation)
})

test('I1 messages join a row that a snapshot made in the meantime', async () => {
  const tab = await createDevice().openTab()
  await tab.memory().load()
  await put(tab, createSessionRow('s1', 'made-by-the-snapshot'))
  await tab.memory().save([message('u1', 'hello')])
  expect(await rows(tab)).toMatchObject([{ incarnation: 'made-by-the-snapshot' }])
  expect(await tab.memory().load()).toHaveLength(1)
})

test('I2 a row that took the server’s incarnation is still the same session', async () => {
  const device = createDevice()
  const [a, b] = [await device.openTab(), await device.openTab()]
  await a.memory().save([message('u1', 'offline')])
  const list = await b.memory().load()
  const before = (await row(a)) as SessionRow
  await put(a, { ...before, incarnation: 'the-server', was: [before.incarnation], confirmed: true })
  await settled()
  await b.memory().save([...list, message('u2', 'online')])
  expect((await b.store.document('s1')).incarnation).toBe('the-server')
  expect((await rows(a)).map(({ incarnation }) => incarnation)).toEqual([before.incarnation, 'the-server'])
  await settled()
  expect(a.texts()).toEqual(['offline', 'online'])
  expect(await (await device.openTab()).memory().load()).toHaveLength(2)
})

test('F43 G8 I3 a session that is deleted in one tab is closed in the other, and its late writes bring nothing back', async () => {
  const device = createDevice()
  const [a, b] = [await device.openTab(), await device.openTab()]
  const memory = b.memory()
  const list = [...(await memory.load()), message('u1', 'hello')]
  await memory.save(list)
  const { ended } = await b.store.document('s1')
  await put(a, null, (await row(a))?.incarnation)
  await settled()
  expect(ended.reason).toMatchObject({ code: 'deleted' })
  expect(b.texts()).toEqual([])
  expect(b.store.messages('s1').problem()).toMatchObject({ code: 'deleted' })
  await expect(memory.save([...list, message('a1', 'late')])).rejects.toMatchObject({ code: 'deleted' })
  await memory.clear()
  expect(await row(b)).toBeUndefined()
  expect(await rows(b)).toEqual([])
})

test('F43 a write that overtakes the news of the deletion is refused by its own transaction', async () => {
  const device = createDevice()
  const b = await device.openTab({ wrap: (database) => ({ ...database, subscribe: () => () => {} }) })
  const list = [message('u1', 'hello')]
  await b.memory().save(list)
  await put(b, null, (await row(b))?.incarnation)
  await expect(b.memory().save([...list, message('a1', 'late')])).rejects.toMatchObject({ code: 'deleted' })
  await put(b, createSessionRow('s1', 'made anew by another tab'))
  await expect(b.memory().save([...list, message('a2', 'later')])).rejects.toMatchObject({ code: 'deleted' })
  expect(await rows(b)).toEqual([])
})

test('I3 an incarnation that another tab made anew takes no write of the one before', async () => {
  const b = await createDevice().openTab({ wrap: (database) => ({ ...database, subscribe: () => () => {} }) })
  const list = [message('u1', 'hello')]
  await b.memory().save(list)
  await put(b, createSessionRow('s1', 'made-anew'), (await row(b))?.incarnation)
  await expect(b.memory().save([...list, message('a1', 'late')])).rejects.toMatchObject({ code: 'deleted' })
  expect(await rows(b)).toEqual([])
})

test('F43 loading a deleted session begins a new one; the old one’s lists are still refused', async () => {
  const tab = await createDevice().openTab()
  const list = [message('u1', 'old')]
  await tab.memory().save(list)
  const first = await row(tab)
  await put(tab, null, first?.incarnation)
  await settled()
  expect(await tab.memory().load()).toEqual([])
  await expect(tab.memory().save([...list, message('a1', 'late')])).rejects.toMatchObject({ code: 'deleted' })
  await tab.memory().save([message('u2', 'new')])
  expect(tab.texts()).toEqual(['new'])
  expect((await row(tab))?.incarnation).not.toBe(first?.incarnation)
})

test('G8 a session that waits to be exported after its deletion accepts no writes and no load', async () => {
  const tab = await createDevice().openTab()
  await tab.memory().save([message('u1', 'unsynced')])
  await put(tab, { ...((await row(tab)) as SessionRow), deleted: { at: 0, unsynced: true } })
  await settled()
  await expect(tab.memory().load()).rejects.toMatchObject({ code: 'deleted' })
  await expect(tab.memory().save([message('u2', 'x')])).rejects.toMatchObject({ code: 'deleted' })
  expect(await rows(tab)).toHaveLength(1)
})

test('F33 one row of garbage is left out, stays on disk, and the session is read without it', async () => {
  const device = createDevice()
  const tab = await device.openTab()
  await tab.memory().save([message('u1', 'before')])
  const { incarnation } = (await row(tab)) as SessionRow
  const append = (bytes: Uint8Array) =>
    tab.database.transactUpdates('s1', 'relaxed', () => ({
      append: { incarnation, origin: 'server', bytes: [bytes] },
      result: undefined,
    }))
  await append(new Uint8Array([1, 2, 3, 4, 5]))
  await append(foreignUpdate().slice(0, -4))
  await append(foreignUpdate('x2'))
  const second = await device.openTab()
  expect((await second.memory().load()).map(({ id }) => id).sort()).toEqual(['u1', 'x2'])
  expect(second.problems).toMatchObject([{ code: 'storage-corrupt' }, { code: 'storage-corrupt' }])
  expect(await rows(second)).toHaveLength(4)
  await second.memory().save([...(await second.memory().load()), message('u3', 'after')])
  expect(await (await device.openTab()).memory().load()).toHaveLength(3)
})

test('F33 the rows of an incarnation that is over are not read', async () => {
  const tab = await createDevice().openTab()
  await tab.database.transactUpdates('s1', 'relaxed', () => ({
    change: { row: createSessionRow('s1', 'new') },
    append: { incarnation: 'old', origin: 'local', bytes: [foreignUpdate()] },
    result: undefined,
  }))
  expect(await tab.memory().load()).toEqual([])
})

test('what one turn brings is one transaction, and what comes meanwhile is the next', async () => {
  const { seen, wrap } = watched()
  const tab = await createDevice().openTab({ wrap })
  await tab.memory().load()
  const list = [message('u1', '1'), message('u2', '2'), message('u3', '3'), message('u4', '4')]
  const saves = [1, 2, 3].map((length) => tab.memory().save(list.slice(0, length)))
  await Promise.resolve().then(() => saves.push(tab.memory().save(list)))
  await Promise.all(saves)
  expect(seen.transactions).toEqual([3, 1])
  expect((await rows(tab)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4])
})

test('what came from the server is stored as the server’s, what was written here as ours, in their order', async () => {
  const tab = await createDevice().openTab()
  const document = await tab.store.document('s1')
  const provider = {}
  const stop = document.addServerOrigin(provider)
  Y.applyUpdate(document.doc, foreignUpdate('x1'), document.serverOrigin)
  await tab.memory().save([message('u1', 'ours')])
  Y.applyUpdate(document.doc, foreignUpdate('x2'), provider)
  stop()
  document.doc.getArray('messages').delete(0, 1)
  await document.flush()
  expect((await rows(tab)).map(({ origin }) => origin)).toEqual(['server', 'local', 'server', 'local'])
})

test('F40 an update of another tab is applied and neither stored nor told again', async () => {
  const device = createDevice()
  const { seen, wrap } = watched()
  const tabs = [await device.openTab(), await device.openTab({ wrap }), await device.openTab({ wrap })]
  await Promise.all(tabs.map((tab) => tab.memory().load()))
  await tabs[0]?.memory().save([message('u1', 'hello')])
  await settled()
  expect(tabs.map((tab) => tab.texts())).toEqual([['hello'], ['hello'], ['hello']])
  expect(seen.transactions).toEqual([])
})

test('F25 whenStored resolves when all that get() shows is committed', async () => {
  const device = createDevice()
  const { seen, wrap } = watched()
  const tab = await device.openTab({ wrap })
  await tab.memory().load()
  seen.failure = new RejoinError('storage-full', 'The disk is full.')
  const messages = tab.store.messages('s1')
  await expect(tab.memory().save([message('u1', 'kept in memory')])).rejects.toMatchObject({ code: 'storage-full' })
  expect(tab.texts()).toEqual(['kept in memory'])
  expect(messages.problem()).toMatchObject({ code: 'storage-full' })
  const waiting = messages.whenStored()
  const refused = expect(waiting).rejects.toMatchObject({ code: 'storage-full' })
  device.clock.advance(250)
  await refused
  seen.failure = undefined
  const stored = messages.whenStored()
  device.clock.advance(500)
  await stored
  expect(messages.problem()).toBeUndefined()
  expect(await rows(tab)).toHaveLength(1)
})

test('F21 100 messages while storage fails are kept in order, without a storm, and written when it is back', async () => {
  const device = createDevice()
  const { seen, wrap } = watched()
  const tab = await device.openTab({ wrap })
  const list = [...(await tab.memory().load())]
  seen.failure = new RejoinError('storage-unavailable', 'The connection was lost.')
  for (let at = 0; at < 100; at++) {
    list.push(message(`u${at}`, String(at)))
    Promise.resolve(tab.memory().save([...list])).catch(() => {})
  }
  await settled()
  list.push(message('u100', 'meanwhile'))
  Promise.resolve(tab.memory().save([...list])).catch(() => {})
  await settled()
  expect(seen.attempts).toBe(1)
  device.clock.advance(1000)
  await settled()
  expect(new Set(tab.problems.map((problem) => (problem as RejoinError).code))).toEqual(
    new Set(['storage-unavailable']),
  )
  expect(tab.problems.length).toBeLessThan(5)
  seen.failure = undefined
  device.clock.advance(60_000)
  await settled()
  expect(await (await device.openTab()).memory().load()).toHaveLength(101)
})

test('F40 a burst of news about a session is looked into less often than it is told', async () => {
  let looks = 0
  const device = createDevice()
  const tab = await device.openTab({
    wrap: (database) => ({
      ...database,
      read: (sessionId) => {
        looks++
        return database.read(sessionId)
      },
    }),
  })
  await tab.memory().save([message('u1', 'x')])
  await settled()
  const before = (await row(tab)) as SessionRow
  looks = 0
  await Promise.all(Array.from({ length: 20 }, (_, acked) => put(tab, { ...before, acked })))
  await settled()
  expect(looks).toBeLessThan(20)
})

test('a row whose announcement got lost is read from disk', async () => {
  const device = createDevice()
  let deaf = true
  const a = await device.openTab()
  const b = await device.openTab({
    wrap: (database) => ({
      ...database,
      subscribe: (listener) => database.subscribe((event) => deaf || listener(event)),
    }),
  })
  const list = [message('u1', 'read')]
  await a.memory().save(list)
  await b.memory().load()
  list.push(message('u2', 'unheard'))
  await a.memory().save(list)
  await settled()
  expect(b.texts()).toEqual(['read'])
  deaf = false
  await a.memory().save([...list, message('u3', 'heard')])
  await settled()
  device.clock.advance(100)
  await settled()
  expect(b.texts()).toEqual(['read', 'unheard', 'heard'])
})

test('catchUp leaves nothing on disk that the document does not have', async () => {
  const device = createDevice()
  const a = await device.openTab()
  const b = await device.openTab({ wrap: (database) => ({ ...database, subscribe: () => () => {} }) })
  const document = await b.store.document('s1')
  await a.memory().save([message('u1', 'unheard')])
  await document.catchUp()
  expect(b.texts()).toEqual(['unheard'])
  expect(await b.store.documents.messages('s1')).toEqual({ ids: new Set(['u1']), whole: true })
})

test('every document has a client id of its own', async () => {
  const device = createDevice()
  const ids = new Set<number>()
  for (let time = 0; time < 5; time++) ids.add((await (await device.openTab()).store.document('s1')).doc.clientID)
  expect(ids.size).toBe(5)
})

test('a session that nobody uses is let go after a while, and read again when it is asked for', async () => {
  const device = createDevice()
  const tab = await device.openTab()
  const memory = tab.memory()
  const list = [...(await memory.load()), message('u1', 'one')]
  await memory.save(list)
  const { ended } = await tab.store.document('s1')
  device.clock.advance(59_000)
  expect(ended.aborted).toBe(false)
  device.clock.advance(61_000)
  expect(ended.reason).toMatchObject({ code: 'closed' })
  expect(tab.texts()).toEqual([])
  await memory.save([...list.slice(0, 1).map((each) => ({ ...each, content: 'one, edited' })), message('u2', 'two')])
  await memory.save([...(await memory.load()).slice(0, 1), message('u3', 'three')])
  expect(tab.texts()).toEqual(['one, edited', 'three'])
})

test('a controller that outlives its document goes on where it was', async () => {
  const device = createDevice()
  const tab = await device.openTab()
  const memory = tab.memory()
  await memory.save([message('u1', 'one'), message('a1', 'two'), message('u2', 'three')])
  const list = await memory.load()
  device.clock.advance(200_000)
  const other = await device.openTab()
  await other.memory().save((await other.memory().load()).filter(({ id }) => id !== 'a1'))
  const changed = list.map((each) => (each.id === 'u2' ? { ...each, content: 'three!' } : each))
  await memory.save([...changed, message('u4', 'four')])
  expect((await memory.load()).map(({ content }) => content)).toEqual(['one', 'three!', 'four'])
})

test('what follows a message that was removed while the document was closed goes where that one stood', async () => {
  const device = createDevice()
  const tab = await device.openTab()
  const list = [message('u1', 'one'), message('a1', 'two')]
  await tab.memory().save(list)
  device.clock.advance(200_000)
  const other = await device.openTab()
  await other.memory().save([(await other.memory().load())[0] as Message, message('u2', 'three')])
  await tab.memory().save([...list, message('a9', 'two, continued')])
  expect(tab.texts()).toEqual(['one', 'two, continued', 'three'])
})

test('a document that somebody watches, or that a socket is attached to, stays open', async () => {
  const device = createDevice()
  const tab = await device.openTab()
  await tab.memory('s1').save([message('u1', 'x')])
  await tab.memory('s2').save([message('u2', 'y')])
  const stop = tab.store.messages('s1').subscribe(() => {})
  const detach = (await tab.store.document('s2')).addServerOrigin({})
  device.clock.advance(300_000)
  expect([tab.texts('s1'), tab.texts('s2')]).toEqual([['x'], ['y']])
  stop()
  detach()
  device.clock.advance(300_000)
  expect([tab.texts('s1'), tab.texts('s2')]).toEqual([[], []])
})

test('closing writes what waits, and everything afterwards is closed', async () => {
  const device = createDevice()
  const tab = await device.openTab()
  const memory = tab.memory()
  await memory.load()
  const saving = memory.save([message('u1', 'last words')])
  await tab.store.close()
  await saving
  await expect(memory.load()).rejects.toMatchObject({ code: 'closed' })
  await expect(memory.save([message('u2', 'x')])).rejects.toMatchObject({ code: 'closed' })
  await expect(tab.store.document('s1')).rejects.toMatchObject({ code: 'closed' })
  device.clock.advance(1_000_000)
  expect(await (await device.openTab()).memory().load()).toHaveLength(1)
})
