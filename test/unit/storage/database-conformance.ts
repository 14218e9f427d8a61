import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Database, DatabaseEvent } from '../../../src/storage/database.ts'
import type { CorruptRow } from '../../../src/storage/quarantine.ts'
import type { StoreName } from '../../../src/storage/schema.ts'
import { bytes, sampleClaim, sampleDelete, sampleRow } from './sample-rows.ts'

export interface OpenOptions {
  readonly onCorrupt?: (row: CorruptRow) => void
  readonly signal?: AbortSignal
}

/** A device whose database is under test. */
export interface DeviceUnderTest {
  /** Opens the database in another tab. */
  readonly open: (options?: OpenOptions) => Promise<Database>
  /** Puts a value on disk behind the database's back; `key` for stores whose rows do not hold it. */
  readonly plant: (store: StoreName, value: object, key?: string) => Promise<void>
  /** How many messages were posted on the channels of this device. */
  readonly posted: () => number
  readonly dispose: () => Promise<void>
}

/** The rules that every implementation of `Database` keeps. */
export function testDatabase(name: string, createDevice: () => Promise<DeviceUnderTest>): void {
  let device: DeviceUnderTest
  let tab: Database

  beforeEach(async () => {
    device = await createDevice()
    tab = await device.open()
  })

  afterEach(() => device.dispose())

  const put = (database: Database, cursor: number) =>
    database.transact('s1', 'relaxed', () => ({ change: { row: sampleRow('s1', cursor) }, result: undefined }))

  const increment = (database: Database) =>
    database.transact('s1', 'relaxed', ({ row }) => {
      const cursor = (row?.local?.cursor ?? 0) + 1
      return { change: { row: sampleRow('s1', cursor) }, result: cursor }
    })

  const append = (database: Database, values: number[], incarnation = 'i1', origin: 'local' | 'server' = 'local') =>
    database.transactUpdates('s1', 'relaxed', ({ lastSeq }) => ({
      append: { incarnation, origin, bytes: values.map((value) => bytes(value)) },
      result: lastSeq,
    }))

  const contents = async (database: Database) =>
    (await database.updates('s1')).map(({ seq, bytes: [value] }) => [seq, value])

  test(`${name}: F29 1,000 contended increments from two tabs make exactly 1,000`, async () => {
    const other = await device.open()
    const seen = await Promise.all(Array.from({ length: 1000 }, (_, at) => increment(at % 2 === 0 ? tab : other)))
    expect([...seen].sort((one, two) => one - two)).toEqual(Array.from({ length: 1000 }, (_, at) => at + 1))
    expect((await tab.read('s1')).row?.local?.cursor).toBe(1000)
  }, 30_000)

  test(`${name}: F29 of two tabs that save at the same cursor exactly one wins, 100 times`, async () => {
    const other = await device.open()
    for (let cursor = 0; cursor < 100; cursor++) {
      const compareAndSet = (database: Database) =>
        database.transact('s1', 'relaxed', ({ row }) =>
          (row?.local?.cursor ?? 0) === cursor
            ? { change: { row: sampleRow('s1', cursor + 1) }, result: true }
            : { result: false },
        )
      const answers = await Promise.all([compareAndSet(tab), compareAndSet(other)])
      expect(answers.filter(Boolean)).toHaveLength(1)
    }
  }, 30_000)

  test(`${name}: a decision is called once, and what it throws is rethrown with nothing written`, async () => {
    await put(tab, 1)
    const error = new Error('no')
    let calls = 0
    const rejected = tab.transactUpdates('s1', 'strict', () => {
      calls++
      throw error
    })
    await expect(rejected).rejects.toBe(error)
    expect(calls).toBe(1)
    expect((await tab.read('s1')).row?.local?.cursor).toBe(1)
    expect(await increment(tab)).toBe(2)
  })

  test(`${name}: a decision that writes a value which cannot be stored writes nothing at all`, async () => {
    await put(tab, 1)
    const rejected = tab.transact('s1', 'strict', () => ({
      change: { row: sampleRow('s1', 2), putClaims: [{ ...sampleClaim('s1', 'c1'), sub: (() => {}) as never }] },
      result: undefined,
    }))
    await expect(rejected).rejects.toThrow()
    expect((await tab.read('s1')).row?.local?.cursor).toBe(1)
    expect(await tab.claims()).toEqual([])
  })

  test(`${name}: a transaction sees the rows of its session and no others`, async () => {
    const claim = sampleClaim('s1', 'c1')
    const gone = sampleDelete('s1', 'i0')
    await tab.transact('s1', 'strict', () => ({
      change: { row: sampleRow('s1'), putClaims: [claim], putDelete: gone },
      result: undefined,
    }))
    await tab.transact('s2', 'strict', () => ({
      change: { row: sampleRow('s2'), putClaims: [sampleClaim('s2', 'c2')], putDelete: sampleDelete('s2', 'i0') },
      result: undefined,
    }))
    const seen = await tab.transact('s1', 'relaxed', (session) => ({ result: session }))
    expect(seen).toEqual({ row: sampleRow('s1'), claims: [claim], deletes: [gone] })
    expect(await tab.read('s1')).toEqual(seen)
    expect((await tab.sessions()).map((row) => row.sessionId).sort()).toEqual(['s1', 's2'])
    expect((await tab.claims()).map((row) => row.claimId).sort()).toEqual(['c1', 'c2'])
    expect((await tab.deletes()).map((row) => row.sessionId).sort()).toEqual(['s1', 's2'])
  })

  test(`${name}: rows are removed one by one, and deletes of ids that look alike are told apart`, async () => {
    const removal = async (sessionId: string, incarnation: string) =>
      tab.transact(sessionId, 'strict', () => ({
        change: { putDelete: sampleDelete(sessionId, incarnation) },
        result: undefined,
      }))
    await removal('a:b', 'c')
    await removal('a', 'b:c')
    expect(await tab.deletes()).toHaveLength(2)
    await tab.transact('a', 'strict', () => ({ change: { removeDelete: 'b:c' }, result: undefined }))
    expect((await tab.deletes()).map((row) => row.sessionId)).toEqual(['a:b'])

    await tab.transact('s1', 'strict', () => ({
      change: { row: sampleRow('s1'), putClaims: [sampleClaim('s1', 'c1'), sampleClaim('s1', 'c2')] },
      result: undefined,
    }))
    await tab.transact('s1', 'strict', () => ({ change: { row: null, removeClaims: ['c1'] }, result: undefined }))
    const left = await tab.read('s1')
    expect(left.row).toBeUndefined()
    expect(left.claims.map((row) => row.claimId)).toEqual(['c2'])
  })

  test(`${name}: updates get the next seq of their session, across tabs and calls`, async () => {
    const other = await device.open()
    await Promise.all([append(tab, [1, 2]), append(other, [3]), append(tab, [4])])
    const found = await contents(tab)
    expect(found.map(([seq]) => seq)).toEqual([1, 2, 3, 4])
    expect(found.map(([, value]) => value).sort()).toEqual([1, 2, 3, 4])
    expect(await contents(other)).toEqual(found)
    expect(await tab.lastSeq('s1')).toBe(4)
    expect(await tab.lastSeq('s2')).toBe(0)
    expect(await append(tab, [])).toBe(4)
  })

  test(`${name}: updates are read in order, after a seq, of one origin`, async () => {
    await append(tab, [1, 2])
    await append(tab, [3], 'i1', 'server')
    await append(tab, [4, 5])
    const read = async (options: Parameters<Database['updates']>[1]) =>
      (await tab.updates('s1', options)).map((row) => row.bytes[0])
    expect(await read({ afterSeq: 2 })).toEqual([3, 4, 5])
    expect(await read({ origin: 'server' })).toEqual([3])
    expect(await read({ afterSeq: 1, origin: 'local' })).toEqual([2, 4, 5])
    expect(await read({ afterSeq: 5 })).toEqual([])
  })

  test(`${name}: removing an incarnation's updates leaves those of others, and those that come with it`, async () => {
    await append(tab, [1, 2], 'i1')
    await append(tab, [3], 'i2')
    await append(tab, [4], 'i1')
    await tab.transactUpdates('s1', 'strict', () => ({
      change: { removeUpdates: ['i1'] },
      append: { incarnation: 'i1', origin: 'local', bytes: [bytes(9)] },
      result: undefined,
    }))
    expect(await contents(tab)).toEqual([
      [3, 3],
      [5, 9],
    ])
    await tab.transact('s1', 'strict', () => ({ change: { removeUpdates: ['i2'] }, result: undefined }))
    expect(await contents(tab)).toEqual([[5, 9]])
  })

  test(`${name}: compaction replaces exactly the rows that it expects`, async () => {
    await append(tab, [1, 2, 3, 4, 5])
    const row = { incarnation: 'i1', origin: 'local', bytes: bytes(24) } as const
    expect(await tab.compactUpdates('s1', { fromSeq: 2, toSeq: 4, expectedRows: 2 }, row)).toBe(false)
    expect(await contents(tab)).toHaveLength(5)
    expect(await tab.compactUpdates('s1', { fromSeq: 2, toSeq: 4, expectedRows: 3 }, row)).toBe(true)
    expect(await contents(tab)).toEqual([
      [1, 1],
      [4, 24],
      [5, 5],
    ])
    expect(await tab.compactUpdates('s1', { fromSeq: 2, toSeq: 4, expectedRows: 3 }, row)).toBe(false)
    expect(await append(tab, [6])).toBe(5)
  })

  test(`${name}: compaction leaves the updates of another incarnation alone`, async () => {
    await append(tab, [1], 'i1')
    await append(tab, [2], 'i2')
    await append(tab, [3], 'i1')
    const into = (toSeq: number, expectedRows: number) =>
      tab.compactUpdates(
        's1',
        { fromSeq: 1, toSeq, expectedRows },
        { incarnation: 'i1', origin: 'local', bytes: bytes(13) },
      )
    expect(await into(3, 3)).toBe(false)
    expect(await into(2, 1)).toBe(false) // its place is taken
    expect(await into(3, 2)).toBe(true)
    expect(await contents(tab)).toEqual([
      [2, 2],
      [3, 13],
    ])
  })

  test(`${name}: F33 a session row that cannot be read counts as absent, refuses writes and stays on disk`, async () => {
    const bad = { sessionId: 's1', incarnation: 'i1', local: { cursor: 'four' } }
    await device.plant('sessions', bad)
    await put(tab, 1).catch(() => {})
    const corrupt: CorruptRow[] = []
    const other = await device.open({ onCorrupt: (row) => corrupt.push(row) })
    expect((await other.read('s1')).row).toBeUndefined()
    let decided = false
    const write = other.transact('s1', 'strict', () => {
      decided = true
      return { change: { row: sampleRow('s1') }, result: undefined }
    })
    await expect(write).rejects.toMatchObject({ name: 'RejoinError', code: 'storage-corrupt' })
    expect(decided).toBe(false)
    await other.transact('s2', 'strict', () => ({ change: { row: sampleRow('s2') }, result: undefined }))
    expect((await other.sessions()).map((row) => row.sessionId)).toEqual(['s2'])
    expect(corrupt).toEqual([{ store: 'sessions', key: 's1' }])
    await expect(put(tab, 1)).rejects.toMatchObject({ code: 'storage-corrupt' })
  })

  test(`${name}: F33 an outbox row that cannot be read is left out, and its session goes on`, async () => {
    await device.plant('outbox', { ...sampleClaim('s1', 'c1'), state: 'maybe' }, 'c1')
    const corrupt: CorruptRow[] = []
    const other = await device.open({ onCorrupt: (row) => corrupt.push(row) })
    await other.transact('s1', 'strict', () => ({
      change: { row: sampleRow('s1'), putClaims: [sampleClaim('s1', 'c2')] },
      result: undefined,
    }))
    expect((await other.read('s1')).claims.map((row) => row.claimId)).toEqual(['c2'])
    expect((await other.claims()).map((row) => row.claimId)).toEqual(['c2'])
    expect(corrupt).toEqual([{ store: 'outbox', key: 'c1' }])
  })

  test(`${name}: F33 an update row that cannot be read is left out and named`, async () => {
    await append(tab, [1])
    await device.plant('updates', { sessionId: 's1', seq: 2, incarnation: 'i1', origin: 'local', bytes: 'half' })
    await append(tab, [3])
    const seqs: number[] = []
    expect((await tab.updates('s1', { onCorrupt: (seq) => seqs.push(seq) })).map((row) => row.seq)).toEqual([1, 3])
    expect(seqs).toEqual([2])
    const row = { incarnation: 'i1', origin: 'local', bytes: bytes(13) } as const
    expect(await tab.compactUpdates('s1', { fromSeq: 1, toSeq: 3, expectedRows: 2 }, row)).toBe(true)
    expect(await contents(tab)).toEqual([[3, 13]])
    expect(await tab.lastSeq('s1')).toBe(3)
  })

  test(`${name}: F33 a meta row that cannot be read is made anew, and the device stays the same`, async () => {
    const { device: id } = await tab.meta()
    await device.plant('meta', { device: id, since: 'yesterday' }, 'device')
    const corrupt: CorruptRow[] = []
    const other = await device.open({ onCorrupt: (row) => corrupt.push(row) })
    expect(await other.meta()).toMatchObject({ device: id, since: 0, account: 'acme' })
    expect(corrupt).toEqual([{ store: 'meta', key: 'device' }])
  })

  test(`${name}: fields of a newer version survive a write`, async () => {
    await device.plant('sessions', { ...sampleRow('s1'), colour: 'red' })
    await tab.transact('s1', 'relaxed', ({ row }) => ({
      change: row ? { row: { ...row, dirty: false } } : {},
      result: undefined,
    }))
    expect((await tab.read('s1')).row).toMatchObject({ colour: 'red', dirty: false })
  })

  test(`${name}: the device and its meta row are made once for all tabs`, async () => {
    const tabs = await Promise.all([device.open(), device.open()])
    const metas = await Promise.all([tab, ...tabs].map((each) => each.meta()))
    expect(new Set(metas.map((meta) => meta.device)).size).toBe(1)
    expect(metas[0]).toMatchObject({ account: 'acme', realm: 'default', label: 'Laptop', since: 0, clockOffsetMs: 0 })
  })

  test(`${name}: meta is changed in one transaction`, async () => {
    const other = await device.open()
    const raise = (database: Database) => database.updateMeta((meta) => ({ ...meta, since: meta.since + 1 }))
    await Promise.all(Array.from({ length: 50 }, (_, at) => raise(at % 2 === 0 ? tab : other)))
    expect((await tab.meta()).since).toBe(50)
    let heard = 0
    other.subscribe(() => heard++)
    expect((await other.updateMeta((meta) => meta)).since).toBe(50)
    expect(heard).toBe(0)
  })

  test(`${name}: what was handed in or out can be changed without changing what is stored`, async () => {
    const row = { ...sampleRow('s1'), left: { t1: '1-a' } }
    const given = bytes(1)
    await tab.transactUpdates('s1', 'relaxed', () => ({
      change: { row },
      append: { incarnation: 'i1', origin: 'local', bytes: [given] },
      result: undefined,
    }))
    row.left.t1 = '2-b'
    given[0] = 9
    const [first] = await tab.updates('s1')
    if (first) first.bytes[0] = 8
    Object.assign((await tab.read('s1')).row ?? {}, { left: {} })
    expect((await tab.read('s1')).row?.left).toEqual({ t1: '1-a' })
    expect(await contents(tab)).toEqual([[1, 1]])
  })

  test(`${name}: a view of a large buffer is stored without the rest of the buffer`, async () => {
    const frame = new Uint8Array(1000).fill(7)
    await tab.transactUpdates('s1', 'relaxed', () => ({
      append: { incarnation: 'i1', origin: 'server', bytes: [frame.subarray(10, 12)] },
      result: undefined,
    }))
    const [row] = await tab.updates('s1')
    expect(row?.bytes).toEqual(bytes(7, 7))
    expect(row?.bytes.buffer.byteLength).toBe(2)
  })

  test(`${name}: F41 a commit is told in this tab and in the other, messages before the snapshot`, async () => {
    const other = await device.open()
    const here: DatabaseEvent[] = []
    const there: DatabaseEvent[] = []
    tab.subscribe((event) => here.push(event))
    const heard = new Promise<void>((resolve) => {
      other.subscribe((event) => {
        there.push(event)
        if (event.kind === 'meta') resolve()
      })
    })
    await tab.transactUpdates('s1', 'relaxed', () => ({
      change: { row: sampleRow('s1') },
      append: { incarnation: 'i1', origin: 'local', bytes: [bytes(1), bytes(2)] },
      result: undefined,
    }))
    await append(tab, [3])
    await tab.transact('s1', 'relaxed', () => ({ result: undefined }))
    await tab.updateMeta((meta) => ({ ...meta, since: 1 }))
    await heard
    const updates = { kind: 'updates', sessionId: 's1', incarnation: 'i1', origin: 'local' } as const
    const expected = [
      { ...updates, firstSeq: 1, bytes: [bytes(1), bytes(2)] },
      { kind: 'session', sessionId: 's1' },
      { ...updates, firstSeq: 3, bytes: [bytes(3)] },
      { kind: 'meta' },
    ] as const
    expect(here).toEqual(expected.map((event) => ({ ...event, remote: false })))
    expect(there).toEqual(expected.map((event) => ({ ...event, remote: true })))
  })

  test(`${name}: F40 what was received is not sent on: one message per commit, however many tabs listen`, async () => {
    const others = await Promise.all([device.open(), device.open(), device.open()])
    const before = device.posted()
    const heard = Promise.all(others.map((other) => new Promise<void>((resolve) => other.subscribe(() => resolve()))))
    await append(tab, [1])
    await heard
    await Promise.all(others.map((other) => other.read('s1')))
    expect(device.posted() - before).toBe(1)
  })

  test(`${name}: a listener that stopped hears nothing more`, async () => {
    const heard: string[] = []
    const stop = tab.subscribe(() => heard.push('stopped'))
    tab.subscribe(() => heard.push('still'))
    stop()
    await append(tab, [1])
    expect(heard).toEqual(['still'])
  })

  test(`${name}: what began before close is written, and what comes after is refused as closed`, async () => {
    let written = false
    const began = append(tab, [1]).then(() => {
      written = true
    })
    await tab.close()
    expect(written).toBe(true)
    await began
    await expect(append(tab, [2])).rejects.toMatchObject({ name: 'RejoinError', code: 'closed' })
    await expect(tab.read('s1')).rejects.toMatchObject({ code: 'closed' })
    await tab.close()
    expect(await contents(await device.open())).toEqual([[1, 1]])
  })

  test(`${name}: the signal closes, and refuses to open when it is aborted`, async () => {
    const controller = new AbortController()
    const other = await device.open({ signal: controller.signal })
    controller.abort()
    await expect(other.read('s1')).rejects.toMatchObject({ code: 'closed' })
    await expect(device.open({ signal: controller.signal })).rejects.toMatchObject({ code: 'closed' })
  })
}
