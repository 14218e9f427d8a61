import { sessionStorageSuite } from 'rejoin/testing'
import { describe, expect, test } from 'vitest'
import { createTestDevice } from './device.ts'

for (const [where, environment] of [
  ['IndexedDB', {}],
  ['memory', { indexedDB: undefined }],
] as const) {
  describe(`S rejoin.storage on ${where}`, () => {
    sessionStorageSuite({
      test,
      expect,
      async create() {
        const device = createTestDevice('laptop', undefined)
        const rejoin = await device.open({ environment: { ...device.environment, ...environment } })
        const other = await device.open({
          account: 'other',
          environment: { ...device.environment, ...environment },
        })
        return { storage: rejoin.storage, otherAccount: other.storage, close: device.close }
      },
      supports: { delete: true, accounts: true, corrupt: false },
    })
  })
}
