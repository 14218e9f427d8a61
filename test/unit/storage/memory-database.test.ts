import { expect, test } from 'vitest'
import type { Database } from '../../../src/storage/database.ts'
import { createMemoryChannels } from '../../../src/storage/memory-channel.ts'
import { openMemoryDatabase } from '../../../src/storage/memory-database.ts'
import { createMemoryDisk } from '../../../src/storage/memory-disk.ts'
import { namesOf } from '../../../src/storage/names.ts'
import { countPosts } from './count-posts.ts'
import { testDatabase } from './database-conformance.ts'
import { sampleRow } from './sample-rows.ts'
import { testEnvironment } from './test-environment.ts'

const names = namesOf('acme', 'default')
const identity = { account: 'acme', realm: 'default', label: 'Laptop' }

testDatabase('memory', async () => {
  const disk = createMemoryDisk()
  const { openChannel, posted } = countPosts(createMemoryChannels())
  const tabs: Database[] = []
  return {
    async open(options) {
      const environment = testEnvironment({ indexedDB: undefined, openChannel })
      const tab = await openMemoryDatabase({ environment, names, identity, disk, ...options })
      tabs.push(tab)
      return tab
    },
    async plant(store, value, key = '') {
      const row = value as { sessionId: string; seq: number }
      if (store === 'sessions') disk.sessions.set(row.sessionId, value)
      if (store === 'outbox') disk.outbox.set(JSON.stringify(key), { key, value })
      if (store === 'updates') disk.updates.get(row.sessionId)?.set(row.seq, value)
      if (store === 'meta') disk.meta = value
    },
    posted,
    async dispose() {
      await Promise.all(tabs.map((tab) => tab.close()))
    },
  }
})

test('F32 without a disk, memory is not persistent and is each tab’s own', async () => {
  const environment = testEnvironment({ indexedDB: undefined })
  const [tab, other] = await Promise.all([
    openMemoryDatabase({ environment, names, identity }),
    openMemoryDatabase({ environment, names, identity }),
  ])
  expect(tab.persistent).toBe(false)
  let heard = 0
  other.subscribe(() => heard++)
  await tab.transact('s1', 'strict', () => ({ change: { row: sampleRow('s1') }, result: undefined }))
  expect((await tab.read('s1')).row).toEqual(sampleRow('s1'))
  expect((await other.read('s1')).row).toBeUndefined()
  expect(heard).toBe(0)
})
