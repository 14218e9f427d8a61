import { expect, test } from 'vitest'
import type { Database } from '../../../src/storage/database.ts'
import { openMemoryDatabase } from '../../../src/storage/memory-database.ts'
import { createMemoryDisk } from '../../../src/storage/memory-disk.ts'
import { namesOf } from '../../../src/storage/names.ts'
import { createSessionIndex } from '../../../src/storage/session-index.ts'
import { bytes, sampleRow } from './sample-rows.ts'
import { testEnvironment } from './test-environment.ts'

const names = namesOf('acme', 'default')
const identity = { account: 'acme', realm: 'default', label: 'Laptop' }

async function openIndexed() {
  const environment = testEnvironment({ indexedDB: undefined })
  const database = await openMemoryDatabase({ environment, names, identity, disk: createMemoryDisk() })
  const lifetime = new AbortController()
  const onError = (error: unknown) => expect.unreachable(String(error))
  const index = createSessionIndex(database, { signal: lifetime.signal, onError })
  return { database, index, end: () => lifetime.abort() }
}

test('G9 an index that was opened on an empty device takes in what is stored afterwards', async () => {
  const { database, index } = await openIndexed()
  await index.ready
  expect(index.get().size).toBe(0)
  await database.transact('s1', 'strict', () => ({ change: { row: sampleRow('s1') }, result: undefined }))
  await index.settled()
  expect(index.get().get('s1')?.row).toEqual(sampleRow('s1'))
})

test('G9 waiting for an index ends, also when there is nothing to take in and when its owner has ended', async () => {
  const { index, end } = await openIndexed()
  await index.settled()
  end()
  await index.settled()
  expect(index.get().size).toBe(0)
})

test('G9 a streamed token costs the index no read, and shows as unsent at once', async () => {
  const environment = testEnvironment({ indexedDB: undefined })
  const database = await openMemoryDatabase({ environment, names, identity, disk: createMemoryDisk() })
  let reads = 0
  const counted: Database = {
    ...database,
    read: (sessionId) => {
      reads++
      return database.read(sessionId)
    },
  }
  const onError = (error: unknown) => expect.unreachable(String(error))
  const index = createSessionIndex(counted, { signal: new AbortController().signal, onError })
  await database.transact('s1', 'strict', () => ({ change: { row: sampleRow('s1') }, result: undefined }))
  await index.settled()
  const before = reads
  const append = (origin: 'local' | 'server') =>
    database.transactUpdates('s1', 'relaxed', () => ({
      append: { incarnation: 'i1', origin, bytes: [bytes(1)] },
      result: undefined,
    }))
  for (let token = 1; token <= 50; token++) {
    await append('local')
    expect(index.get().get('s1')?.lastLocalSeq).toBe(token)
    expect(index.isCurrent()).toBe(true)
  }
  await append('server')
  expect(index.get().get('s1')?.lastLocalSeq).toBe(50)
  await index.settled()
  expect(reads).toBe(before)

  // Whatever else a commit changes is read.
  await database.transact('s1', 'strict', () => ({ change: { row: sampleRow('s1', 2) }, result: undefined }))
  await index.settled()
  expect(index.get().get('s1')).toMatchObject({ lastLocalSeq: 50, row: { local: { cursor: 2 } } })
})

test('G9 updates that come while the index reads are not forgotten', async () => {
  const { database, index } = await openIndexed()
  const write = database.transactUpdates('s1', 'relaxed', () => ({
    change: { row: sampleRow('s1') },
    append: { incarnation: 'i1', origin: 'local', bytes: [bytes(1), bytes(2)] },
    result: undefined,
  }))
  const more = database.transactUpdates('s1', 'relaxed', () => ({
    append: { incarnation: 'i1', origin: 'local', bytes: [bytes(3)] },
    result: undefined,
  }))
  await Promise.all([write, more])
  await index.settled()
  expect(index.get().get('s1')?.lastLocalSeq).toBe(3)
})
