import type { Environment } from '../../../src/core/environment.ts'
import type { Database } from '../../../src/storage/database.ts'
import { namesOf } from '../../../src/storage/names.ts'
import { openIndexedDatabase } from '../../../src/storage/open-indexed-database.ts'
import { countPosts } from './count-posts.ts'
import type { DeviceUnderTest } from './database-conformance.ts'
import { testEnvironment } from './test-environment.ts'

let devices = 0

/** A device on the IndexedDB of this test's world, under an account realm of its own. */
export function indexedDevice(factory: IDBFactory, openChannel: Environment['openChannel']): DeviceUnderTest {
  const names = namesOf('acme', `test-${++devices}-${Math.random()}`)
  const channels = countPosts(openChannel)
  const tabs: Database[] = []
  return {
    async open(options) {
      const environment = testEnvironment({ indexedDB: factory, openChannel: channels.openChannel })
      const identity = { account: 'acme', realm: 'default', label: 'Laptop' }
      const tab = await openIndexedDatabase({ environment, names, identity, ...options })
      tabs.push(tab)
      return tab
    },
    async plant(store, value, key) {
      const db = await request(factory.open(names.database))
      const tx = db.transaction(store, 'readwrite')
      await request(tx.objectStore(store).put(value, key))
      db.close()
    },
    posted: channels.posted,
    async dispose() {
      await Promise.all(tabs.map((tab) => tab.close()))
      await request(factory.deleteDatabase(names.database))
    },
  }
}

export function request<T>(asked: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    asked.onsuccess = () => resolve(asked.result)
    asked.onerror = () => reject(asked.error)
  })
}
