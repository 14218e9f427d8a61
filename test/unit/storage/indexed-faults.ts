import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Environment } from '../../../src/core/environment.ts'
import type { RejoinError } from '../../../src/errors.ts'
import type { Database, DatabaseEvent } from '../../../src/storage/database.ts'
import type { DatabaseOptions } from '../../../src/storage/database-options.ts'
import { BLOCKED_WITHIN_MS, OPEN_WITHIN_MS } from '../../../src/storage/indexed-connection.ts'
import { REOPEN_DELAYS_MS } from '../../../src/storage/indexed-engine.ts'
import { type Names, namesOf } from '../../../src/storage/names.ts'
import { openDatabase } from '../../../src/storage/open-database.ts'
import { openIndexedDatabase } from '../../../src/storage/open-indexed-database.ts'
import type { CorruptRow } from '../../../src/storage/quarantine.ts'
import { TRANSACTION_WITHIN_MS } from '../../../src/storage/run-transaction.ts'
import { request } from './indexed-device.ts'
import { bytes, sampleRow } from './sample-rows.ts'
import { type TestEnvironment, testEnvironment } from './test-environment.ts'

/** What a database in IndexedDB does when the browser does not do what it should. */
export function testIndexedFaults(
  name: string,
  factory: IDBFactory,
  createChannels: () => Environment['openChannel'],
  forceClose: (db: IDBDatabase) => void,
): void {
  let names: Names
  let environment: TestEnvironment
  let problems: (RejoinError['code'] | undefined)[]
  let corrupt: CorruptRow[]
  let options: DatabaseOptions
  let tabs: Database[]

  beforeEach(() => {
    names = namesOf('acme', `fault-${Math.random()}`)
    environment = testEnvironment({ indexedDB: factory, openChannel: createChannels() })
    problems = []
    corrupt = []
    tabs = []
    options = {
      environment,
      names,
      identity: { account: 'acme', realm: 'default', label: 'Laptop' },
      onProblem: (problem) => problems.push(problem?.code),
      onCorrupt: (row) => corrupt.push(row),
    }
  })

  afterEach(async () => {
    vi.restoreAllMocks()
    await Promise.all(tabs.map((tab) => tab.close()))
    await request(factory.deleteDatabase(names.database))
  })

  const open = async (changes: Partial<DatabaseOptions> = {}) => {
    const tab = await openIndexedDatabase({ ...options, ...changes })
    tabs.push(tab)
    return tab
  }

  /** A factory that opens as `asked` says. */
  const faulty = (asked: (name: string, version: number | undefined) => IDBOpenDBRequest) =>
    testEnvironment({
      indexedDB: { open: asked } as IDBFactory,
      openChannel: environment.openChannel,
    })

  const increment = (tab: Database) =>
    tab.transact('s1', 'relaxed', ({ row }) => {
      const cursor = (row?.local?.cursor ?? 0) + 1
      return { change: { row: sampleRow('s1', cursor) }, result: cursor }
    })

  const append = (tab: Database, value: number) =>
    tab.transactUpdates('s1', 'relaxed', () => ({
      append: { incarnation: 'i1', origin: 'local', bytes: [bytes(value)] },
      result: undefined,
    }))

  const domError = (errorName: string) => new DOMException(`${errorName} made by the test`, errorName)

  /** From now on each call throws, until the mock is restored. */
  const failTransactions = (errorName: string) =>
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(() => {
      throw domError(errorName)
    })

  test(`${name}: G4 strict durability is asked for where it was promised, relaxed elsewhere`, async () => {
    const tab = await open()
    const transaction = vi.spyOn(IDBDatabase.prototype, 'transaction')
    await tab.transact('s1', 'strict', () => ({ result: undefined }))
    await tab.transactUpdates('s1', 'relaxed', () => ({ result: undefined }))
    await tab.read('s1')
    expect(transaction.mock.calls.map(([, mode, how]) => [mode ?? 'readonly', how?.durability])).toEqual([
      ['readwrite', 'strict'],
      ['readwrite', 'relaxed'],
      ['readonly', undefined],
    ])
  })

  test(`${name}: G4 a write resolves on the transaction’s end and not on the request’s`, async () => {
    const tab = await open()
    const log: string[] = []
    const { transaction } = IDBDatabase.prototype
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (this: IDBDatabase, ...args) {
      const tx = transaction.apply(this, args)
      tx.addEventListener('complete', () => log.push('complete'))
      return tx
    })
    const { put } = IDBObjectStore.prototype
    vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(function (this: IDBObjectStore, ...args) {
      const asked = put.apply(this, args)
      asked.addEventListener('success', () => log.push('request'))
      return asked
    })
    await increment(tab)
    log.push('resolved')
    expect(log).toEqual(['request', 'complete', 'resolved'])
  })

  test.each(['InvalidStateError', 'UnknownError'])(
    `${name}: F21 a dead handle (%s) is opened again, with one report and one when it works`,
    async (errorName) => {
      const tab = await open()
      await increment(tab)
      const broken = failTransactions(errorName)
      const refused = await Promise.allSettled([append(tab, 1), append(tab, 2), increment(tab)])
      expect(refused.map((each) => each.status === 'rejected' && each.reason.code)).toEqual(
        Array(3).fill('storage-unavailable'),
      )
      expect(problems).toEqual(['storage-unavailable'])
      broken.mockRestore()
      for (let value = 1; value <= 100; value++) await append(tab, value)
      expect(await increment(tab)).toBe(2)
      expect(problems).toEqual(['storage-unavailable', undefined])
      expect(await tab.updates('s1')).toHaveLength(100)
    },
  )

  test(`${name}: F21 a handle that dies under a transaction is replaced without anybody noticing`, async () => {
    const tab = await open()
    let dead = 2
    const real = IDBDatabase.prototype.transaction
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (this: IDBDatabase, ...args) {
      if (dead-- > 0) throw domError('InvalidStateError')
      return real.apply(this, args)
    })
    expect(await increment(tab)).toBe(1)
    expect(problems).toEqual([])
  })

  test(`${name}: a decision that was made is not made again on another handle`, async () => {
    const tab = await open()
    await increment(tab)
    let calls = 0
    vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(() => {
      throw domError('UnknownError')
    })
    const rejected = tab.transact('s1', 'strict', () => {
      calls++
      return { change: { row: sampleRow('s1', 9) }, result: undefined }
    })
    await expect(rejected).rejects.toMatchObject({ code: 'storage-unavailable' })
    expect(calls).toBe(1)
    vi.restoreAllMocks()
    expect(await increment(tab)).toBe(2)
  })

  test(`${name}: F21 F24 a handle that the browser closed by force is opened again, once for all who wait`, async () => {
    const handles: IDBDatabase[] = []
    const watching = faulty((database, version) => {
      const asked = factory.open(database, version)
      asked.addEventListener('success', () => handles.push(asked.result))
      return asked
    })
    const tab = await open({ environment: watching })
    await increment(tab)
    for (const handle of handles) forceClose(handle)
    const transaction = vi.spyOn(IDBDatabase.prototype, 'transaction')
    expect(await Promise.all([1, 2, 3, 4, 5].map(() => increment(tab)))).toEqual([2, 3, 4, 5, 6])
    expect(handles).toHaveLength(2)
    expect(transaction).toHaveBeenCalledTimes(5)
    expect(problems).toEqual([])
  })

  test(`${name}: F23 F27 a full disk is said once, and nothing of the write is there`, async () => {
    const tab = await open()
    await increment(tab)
    const full = vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementation(() => {
      throw domError('QuotaExceededError')
    })
    await expect(increment(tab)).rejects.toMatchObject({ name: 'RejoinError', code: 'storage-full' })
    await expect(append(tab, 1)).rejects.toMatchObject({ code: 'storage-full' })
    expect((await tab.read('s1')).row?.local?.cursor).toBe(1)
    expect(problems).toEqual(['storage-full'])
    full.mockRestore()
    expect(await increment(tab)).toBe(2)
    expect(problems).toEqual(['storage-full', undefined])
  })

  test(`${name}: a transaction that the browser does not answer is given up with nothing written`, async () => {
    const tab = await open()
    await increment(tab)
    const holder = await request(factory.open(names.database))
    let holding = true
    const held = new Promise((resolve) => {
      const tx = holder.transaction('sessions', 'readwrite')
      tx.oncomplete = resolve
      const hold = () => {
        if (holding) tx.objectStore('sessions').get('nobody').onsuccess = hold
      }
      hold()
    })
    const waiting = increment(tab)
    environment.clock.end(TRANSACTION_WITHIN_MS)
    await expect(waiting).rejects.toMatchObject({ code: 'storage-unavailable' })
    expect(problems).toEqual(['storage-unavailable'])
    holding = false
    await held
    holder.close()
    expect(await increment(tab)).toBe(2)
    expect(environment.clock.waiting()).toEqual([])
  })

  test(`${name}: F24 an upgrade that another tab blocks is said after 2 s, and goes on by itself`, async () => {
    const old = await request(factory.open(names.database, 1)) // ignores `versionchange`
    const newer = faulty((database, version) => factory.open(database, (version ?? 0) + 1))
    let heal = () => {}
    const healed = new Promise<void>((resolve) => {
      heal = resolve
    })
    const opening = open({
      environment: newer,
      onProblem(problem) {
        problems.push(problem?.code)
        if (!problem) heal()
      },
    })
    await newer.clock.waitingFor(BLOCKED_WITHIN_MS)
    newer.clock.end(BLOCKED_WITHIN_MS)
    const tab = await opening
    expect(problems).toEqual(['storage-blocked'])
    expect(tab.persistent).toBe(true)
    const refused = await Promise.allSettled([increment(tab), tab.read('s1'), tab.meta(), tab.updates('s1')])
    expect(refused.map((each) => each.status === 'rejected' && each.reason.code)).toEqual(
      Array(4).fill('storage-blocked'),
    )
    old.close()
    await healed
    expect(await increment(tab)).toBe(1)
    expect((await tab.meta()).account).toBe('acme')
    expect(problems).toEqual(['storage-blocked', undefined])
  })

  test(`${name}: F24 a tab lets an upgrade pass after its pending writes, then reads and refuses to write`, async () => {
    const tab = await open()
    const pending = [increment(tab), increment(tab)]
    const upgrading = factory.open(names.database, 2)
    let blocked = false
    upgrading.onblocked = () => {
      blocked = true
    }
    const upgraded = await request(upgrading)
    expect(await Promise.all(pending)).toEqual([1, 2])
    expect(blocked).toBe(false)
    upgraded.close()
    expect((await tab.read('s1')).row?.local?.cursor).toBe(2)
    await expect(increment(tab)).rejects.toMatchObject({
      code: 'storage-unavailable',
      hint: expect.stringContaining('Reload the page'),
    })
    expect((await tab.sessions()).map((row) => row.local?.cursor)).toEqual([2])
    expect(problems).toEqual(['storage-unavailable'])
  })

  test(`${name}: F24 a newer database is opened to be read`, async () => {
    const first = await open()
    await increment(first)
    await first.close()
    const newer = await request(factory.open(names.database, 7))
    newer.close()
    const tab = await open()
    expect(problems).toEqual(['storage-unavailable'])
    expect((await tab.read('s1')).row?.local?.cursor).toBe(1)
    await expect(append(tab, 1)).rejects.toMatchObject({ code: 'storage-unavailable' })
    await expect(tab.updateMeta((meta) => meta)).rejects.toMatchObject({ code: 'storage-unavailable' })
    expect(problems).toEqual(['storage-unavailable'])
  })

  test(`${name}: F33 one update that the browser lost does not take the others with it`, async () => {
    const tab = await open()
    for (const value of [1, 2, 3]) await append(tab, value)
    await increment(tab)
    await tab.transact('s2', 'relaxed', () => ({ change: { row: sampleRow('s2') }, result: undefined }))
    const { getAll, get } = IDBObjectStore.prototype
    vi.spyOn(IDBObjectStore.prototype, 'getAll').mockImplementation(function (this: IDBObjectStore, query) {
      if (this.name === 'sessions' || ((query as IDBKeyRange).upper[1] >= 2 && (query as IDBKeyRange).lower[1] <= 2)) {
        throw domError('DataError')
      }
      return getAll.call(this, query)
    })
    vi.spyOn(IDBObjectStore.prototype, 'get').mockImplementation(function (this: IDBObjectStore, key) {
      if (key === 's2') throw domError('NotReadableError')
      return get.call(this, key)
    })
    const seqs: number[] = []
    expect((await tab.updates('s1', { onCorrupt: (seq) => seqs.push(seq) })).map((row) => row.seq)).toEqual([1, 3])
    expect(seqs).toEqual([2])
    expect((await tab.sessions()).map((row) => row.sessionId)).toEqual(['s1'])
    await expect(tab.read('s2')).rejects.toMatchObject({ code: 'storage-corrupt' })
    expect(corrupt).toEqual([
      { store: 'updates', key: ['s1', 2] },
      { store: 'sessions', key: 's2' },
    ])
    expect(problems).toEqual([])
  })

  test.each<[string, () => IDBFactory | undefined]>([
    ['is not there', () => undefined],
    [
      'throws',
      () =>
        ({
          open: () => {
            throw domError('SecurityError')
          },
        }) as unknown as IDBFactory,
    ],
    [
      'rejects',
      () =>
        ({
          open(database: string) {
            const asked = factory.open(`${database}-refused`, 1)
            asked.addEventListener('upgradeneeded', () => {
              const asking = asked.result.createObjectStore('refused').get(0)
              asking.onsuccess = () => asked.transaction?.abort()
            })
            return asked
          },
        }) as IDBFactory,
    ],
  ])(`${name}: F32 where IndexedDB %s, the chat works from memory and says so`, async (_, absent) => {
    const tab = await openDatabase({ ...options, environment: testEnvironment({ indexedDB: absent() }) })
    tabs.push(tab)
    expect(tab.persistent).toBe(false)
    expect(problems).toEqual(['storage-unavailable'])
    expect(await increment(tab)).toBe(1)
    await append(tab, 1)
    expect(await tab.updates('s1')).toHaveLength(1)
  })

  test(`${name}: F32 where IndexedDB never answers, memory takes over and the late handle is closed`, async () => {
    // Ours waits behind an upgrade that waits for a tab that ignores it: no event at all comes.
    const old = await request(factory.open(names.database, 1))
    const upgrade = factory.open(names.database, 2)
    await new Promise((resolve) => {
      upgrade.onblocked = resolve
    })
    const opening = openDatabase(options)
    await environment.clock.waitingFor(OPEN_WITHIN_MS)
    environment.clock.end(OPEN_WITHIN_MS)
    const tab = await opening
    tabs.push(tab)
    expect(tab.persistent).toBe(false)
    expect(problems).toEqual(['storage-unavailable'])
    expect(await increment(tab)).toBe(1)
    expect(environment.clock.waiting()).toEqual([])
    old.close()
    const upgraded = await request(upgrade)
    upgraded.close()
  })

  test(`${name}: F32 where IndexedDB works, it is used`, async () => {
    const tab = await openDatabase(options)
    tabs.push(tab)
    expect(tab.persistent).toBe(true)
    expect(problems).toEqual([])
  })

  test(`${name}: F36 a hidden page holds no handle and no channel, and learns on return what it missed`, async () => {
    const handles: IDBDatabase[] = []
    const watching = faulty((database, version) => {
      const asked = factory.open(database, version)
      asked.addEventListener('success', () => handles.push(asked.result))
      return asked
    })
    const tab = await open({ environment: watching })
    const other = await open()
    await append(tab, 1)
    await increment(tab)
    const events: DatabaseEvent[] = []
    tab.subscribe((event) => events.push(event))

    watching.happen('pagehide')
    expect(() => handles[0]?.transaction('meta')).toThrow()
    await append(other, 2)
    await increment(other)
    await Promise.resolve()
    expect(events).toEqual([])

    const all = new Promise<void>((resolve) => {
      tab.subscribe((event) => {
        if (event.kind === 'session') resolve()
      })
    })
    watching.happen('pageshow')
    await all
    const hint = { kind: 'updates', sessionId: 's1', incarnation: 'i1', firstSeq: 3, bytes: [], remote: true }
    expect(events).toEqual([
      { kind: 'meta', remote: true },
      { ...hint, origin: 'local' },
      { ...hint, origin: 'server' },
      { kind: 'session', sessionId: 's1', remote: true },
    ])
    expect((await tab.read('s1')).row?.local?.cursor).toBe(2)

    const live = new Promise<DatabaseEvent>((resolve) => tab.subscribe(resolve))
    await append(other, 3)
    expect(await live).toMatchObject({ kind: 'updates', firstSeq: 3, remote: true })
  })

  test(`${name}: F36 a write under way when the page is hidden is completed, and the others hear of it`, async () => {
    const tab = await open()
    const other = await open({
      environment: testEnvironment({ indexedDB: factory, openChannel: environment.openChannel }),
    })
    const heard = new Promise<DatabaseEvent>((resolve) => other.subscribe(resolve))
    const writing = increment(tab)
    environment.happen('pagehide')
    expect(await writing).toBe(1)
    expect(await heard).toEqual({ kind: 'session', sessionId: 's1', remote: true })
  })

  test(`${name}: the first pageshow of a page that was never hidden tells nothing`, async () => {
    const tab = await open()
    await increment(tab)
    let heard = 0
    tab.subscribe(() => heard++)
    environment.happen('pageshow')
    await tab.read('s1')
    await tab.read('s1')
    expect(heard).toBe(0)
  })

  test(`${name}: close leaves no timer, no listener and no handle behind`, async () => {
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    const tab = await open({ signal })
    await increment(tab)
    await tab.close()
    expect(removed.mock.calls).toEqual(added.mock.calls)
    expect(environment.listeners()).toBe(0)
    expect(environment.clock.waiting()).toEqual([])
    let blocked = false
    const removal = factory.deleteDatabase(names.database)
    removal.onblocked = () => {
      blocked = true
    }
    await request(removal)
    expect(blocked).toBe(false)
  })

  test(`${name}: closing ends the wait for a handle at once`, async () => {
    const slow = testEnvironment({ indexedDB: factory, instantBelowMs: 0 })
    const tab = await open({ environment: slow })
    failTransactions('InvalidStateError')
    const rejected = expect(increment(tab)).rejects.toMatchObject({ code: 'closed' })
    await slow.clock.waitingFor(REOPEN_DELAYS_MS[0] ?? 0)
    await tab.close()
    await rejected
    expect(slow.clock.waiting()).toEqual([])
  })

  test(`${name}: tabs of two accounts, and of two realms, see nothing of each other (G10, F65)`, async () => {
    const tab = await open()
    const elsewhere = await Promise.all(
      [namesOf('acme', 'other'), namesOf('acme/default', 'x'), namesOf('bob', 'default')].map((others) =>
        open({ names: others }),
      ),
    )
    let heard = 0
    for (const each of elsewhere) each.subscribe(() => heard++)
    await increment(tab)
    for (const each of elsewhere) expect(await each.sessions()).toEqual([])
    expect(heard).toBe(0)
    await Promise.all(elsewhere.map((each) => each.close()))
  })
}
