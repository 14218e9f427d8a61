import { expect, test } from 'vitest'
import { openMemoryDatabase } from '../../../src/storage/memory-database.ts'
import { createMemoryDisk } from '../../../src/storage/memory-disk.ts'
import { namesOf } from '../../../src/storage/names.ts'
import { createSessionIndex } from '../../../src/storage/session-index.ts'
import { sampleRow } from './sample-rows.ts'
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
