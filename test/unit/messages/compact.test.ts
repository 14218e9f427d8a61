import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as Y from 'yjs'
import type { SessionRow, UpdateRow } from '../../../src/core/device-session.ts'
import { createSessionRow } from '../../../src/core/save-snapshot.ts'
import { compact } from '../../../src/messages/compact.ts'
import { compactionRanges } from '../../../src/messages/compaction-ranges.ts'
import type { Database } from '../../../src/storage/database.ts'
import { createDevice, message, settled, type Tab } from './tabs.ts'

const rows = (tab: Tab) => tab.database.updates('s1')
const size = (all: readonly UpdateRow[]) => all.reduce((sum, { bytes }) => sum + bytes.length, 0)
const now = () => Promise.resolve()

function read(all: readonly UpdateRow[]): unknown {
  const doc = new Y.Doc()
  for (const { bytes } of all) Y.applyUpdate(doc, bytes)
  return doc.getArray('messages').toJSON()
}

async function stream(tab: Tab, tokens: number, id = 'a1'): Promise<void> {
  const memory = tab.memory()
  const before = await memory.load()
  let content = ''
  for (let token = 0; token < tokens; token++) {
    content += `word ${token} `
    await memory.save([...before, message(id, content, { status: 'streaming' })])
  }
}

async function acknowledge(tab: Tab, acked: number): Promise<void> {
  await tab.database.transact('s1', 'strict', ({ row }) => ({
    change: { row: { ...(row as SessionRow), acked } },
    result: undefined,
  }))
}

const row = (seq: number, origin: UpdateRow['origin'], bytes = 10, incarnation = 'i'): UpdateRow => ({
  sessionId: 's1',
  incarnation,
  seq,
  origin,
  bytes: new Uint8Array(bytes),
})

test('what was acknowledged is never merged with what was not', () => {
  const all = [row(1, 'local'), row(2, 'server'), row(3, 'local'), row(4, 'local'), row(5, 'local'), row(6, 'server')]
  expect(compactionRanges(all, 3)).toEqual([
    { start: 0, end: 3, origin: 'server' },
    { start: 3, end: 5, origin: 'local' },
  ])
})

test('every range is of one kind, and no row is in two', () => {
  const anyRow = fc.record({
    origin: fc.constantFrom('local' as const, 'server' as const),
    gap: fc.integer({ min: 1, max: 3 }),
  })
  fc.assert(
    fc.property(fc.array(anyRow), fc.nat(20), fc.array(fc.nat(20)), (made, acked, unreadable) => {
      let seq = 0
      const all = made.map(({ origin, gap }) => {
        seq += gap
        return row(seq, origin)
      })
      let free = 0
      for (const { start, end, origin } of compactionRanges(all, acked, unreadable)) {
        expect(start).toBeGreaterThanOrEqual(free)
        expect(end - start).toBeGreaterThan(1)
        free = end
        const unsent = all.slice(start, end).filter((each) => each.origin === 'local' && each.seq > acked)
        expect(unsent.length).toBe(origin === 'local' ? end - start : 0)
        const [first, last] = [all[start]?.seq ?? 0, all[end - 1]?.seq ?? 0]
        const between = unreadable.filter((each) => each > first && each < last && !all.some((it) => it.seq === each))
        expect(between).toEqual([])
      }
    }),
  )
})

test('unsent rows are merged only as far as a request can carry them', () => {
  const all = [row(1, 'local', 200_000), row(2, 'local', 100_000), row(3, 'local', 100_000), row(4, 'local', 250_000)]
  expect(compactionRanges(all, 0)).toEqual([{ start: 1, end: 3, origin: 'local' }])
  expect(compactionRanges(all, 4)).toEqual([{ start: 0, end: 4, origin: 'server' }])
})

test('an incarnation that was given up is not merged with its successor', () => {
  const all = [row(1, 'server', 9, 'x'), row(2, 'server', 9, 'x'), row(3, 'server', 9, 'y'), row(4, 'server', 9, 'y')]
  expect(compactionRanges(all, 0).map(({ start, end }) => [start, end])).toEqual([
    [0, 2],
    [2, 4],
  ])
})

test('F26 a compacted session says the same in fewer rows and bytes, and keeps the highest seq', async () => {
  const tab = await createDevice().openTab()
  await stream(tab, 60)
  await acknowledge(tab, 30)
  const before = await rows(tab)
  expect(await compact(tab.database, 's1', now)).toEqual({ rows: 2, bytes: size(await rows(tab)) })
  const after = await rows(tab)
  expect(after.map(({ seq, origin }) => [seq, origin])).toEqual([
    [30, 'server'],
    [60, 'local'],
  ])
  expect(size(after)).toBeLessThan(size(before) / 2)
  expect(read(after)).toEqual(read(before))
  expect(await tab.database.lastSeq('s1')).toBe(60)
  await compact(tab.database, 's1', now)
  expect(await rows(tab)).toEqual(after)
})

test('the compacted unsent part alone brings a server that has the rest up to date', async () => {
  const tab = await createDevice().openTab()
  await stream(tab, 20)
  await acknowledge(tab, 10)
  const server = new Y.Doc()
  for (const { bytes } of (await rows(tab)).slice(0, 10)) Y.applyUpdate(server, bytes)
  const whole = read(await rows(tab))
  await compact(tab.database, 's1', now)
  for (const { bytes } of await tab.database.updates('s1', { afterSeq: 10, origin: 'local' }))
    Y.applyUpdate(server, bytes)
  expect(server.getArray('messages').toJSON()).toEqual(whole)
})

test('compacting forgets deleted text', async () => {
  const tab = await createDevice().openTab()
  await tab.memory().save([message('u1', 'secret '.repeat(1000))])
  await tab.memory().clear()
  await compact(tab.database, 's1', now)
  const left = await rows(tab)
  expect(left).toHaveLength(1)
  expect(size(left)).toBeLessThan(100)
})

test('deletes that stand alone survive compaction', async () => {
  const tab = await createDevice().openTab()
  const list = [message('u1', '1'), message('u2', '2'), message('u3', '3')]
  await tab.memory().save(list)
  await acknowledge(tab, 1)
  await tab.memory().save(list.slice(0, 2))
  await tab.memory().save(list.slice(0, 1))
  await compact(tab.database, 's1', now)
  expect((await rows(tab)).map(({ seq }) => seq)).toEqual([1, 3])
  expect(read(await rows(tab))).toHaveLength(1)
})

test('F33 a row that cannot be applied stays where it is, and what is around it is compacted', async () => {
  const tab = await createDevice().openTab()
  await stream(tab, 10)
  const { incarnation } = (await tab.database.read('s1')).row as SessionRow
  await tab.database.transactUpdates('s1', 'relaxed', () => ({
    append: { incarnation, origin: 'server', bytes: [new Uint8Array([7, 7, 7, 7])] },
    result: undefined,
  }))
  await stream(tab, 10, 'a2')
  await acknowledge(tab, 100)
  expect(await compact(tab.database, 's1', now)).toMatchObject({ rows: 3 })
  const left = await rows(tab)
  expect(left.map(({ seq }) => seq)).toEqual([10, 11, 21])
  expect(left[1]?.bytes).toEqual(new Uint8Array([7, 7, 7, 7]))
  expect(read(left.toSpliced(1, 1))).toHaveLength(2)
})

test('an update that waits for another one is not compacted away', async () => {
  const tab = await createDevice().openTab()
  const far = new Y.Doc()
  const updates: Uint8Array[] = []
  far.on('update', (bytes: Uint8Array) => updates.push(bytes))
  for (const at of [0, 1, 2]) far.getArray('messages').insert(at, [at])
  await tab.database.transactUpdates('s1', 'relaxed', () => ({
    change: { row: createSessionRow('s1', 'i') },
    append: { incarnation: 'i', origin: 'server', bytes: updates.slice(1) },
    result: undefined,
  }))
  await compact(tab.database, 's1', now)
  expect(await rows(tab)).toHaveLength(2)
})

test('rows that come while a session is compacted are kept', async () => {
  const tab = await createDevice().openTab()
  await stream(tab, 20)
  let more: Promise<void> | undefined
  await compact(tab.database, 's1', async () => {
    more ??= stream(tab, 5, 'a2')
    await settled()
  })
  await more
  expect((await rows(tab)).length).toBeGreaterThanOrEqual(2)
  expect(read(await rows(tab))).toHaveLength(2)
})

test('two tabs that compact at once lose nothing: only the one that finds its rows replaces them', async () => {
  const device = createDevice()
  const [a, b] = [await device.openTab(), await device.openTab()]
  await stream(a, 30)
  const whole = read(await rows(a))
  await Promise.all([compact(a.database, 's1', settled), compact(b.database, 's1', settled)])
  expect(await rows(a)).toHaveLength(1)
  expect(read(await rows(a))).toEqual(whole)
})

test('F26 an unbroken stream is compacted while it goes on', async () => {
  const tab = await createDevice().openTab()
  let most = 0
  const memory = tab.memory()
  await memory.load()
  let content = ''
  for (let token = 0; token < 1500; token++) {
    content += `word ${token} `
    await memory.save([message('a1', content, { status: 'streaming' })])
    if (token % 50 === 0) {
      await settled()
      most = Math.max(most, (await rows(tab)).length)
    }
  }
  expect(most).toBeLessThan(400)
  expect((await memory.load())[0]?.content).toBe(content)
})

test('F26 opening and closing without edits leaves rows and bytes as they are', async () => {
  const device = createDevice()
  const first = await device.openTab()
  await stream(first, 150)
  const before = await rows(first)
  for (let time = 0; time < 30; time++) {
    const tab = await device.openTab()
    await tab.memory().load()
    await tab.store.close()
  }
  await settled()
  expect(await rows(first)).toEqual(before)
})

test('F26 a session that was left with many rows is compacted when it is opened', async () => {
  const device = createDevice()
  const first = await device.openTab({ wrap: neverCompacting })
  await stream(first, 300)
  expect(await rows(first)).toHaveLength(300)
  const tab = await device.openTab()
  await tab.memory().load()
  await settled()
  expect(await rows(tab)).toHaveLength(1)
  expect(await (await device.openTab()).memory().load()).toHaveLength(1)
})

test('a tab that dies between two ranges leaves a session that reads the same', async () => {
  const tab = await createDevice().openTab()
  await stream(tab, 20)
  await acknowledge(tab, 10)
  const whole = read(await rows(tab))
  let replaced = 0
  const dying: Database = {
    ...tab.database,
    compactUpdates: (...args) => {
      if (replaced++ > 0) throw new Error('dead')
      return tab.database.compactUpdates(...args)
    },
  }
  await expect(compact(dying, 's1', now)).rejects.toThrow('dead')
  expect(await rows(tab)).toHaveLength(11)
  expect(read(await rows(tab))).toEqual(whole)
})

function neverCompacting(database: Database): Database {
  return { ...database, compactUpdates: () => Promise.resolve(false) }
}
