import { sessionStorageSuite } from 'rejoin/testing'
import { describe, expect } from 'vitest'
import { testOrSkip } from '../../test-or-skip.ts'
import { createTestDevice } from './device.ts'

const NO_BROKEN_ROWS = 'only the database writes rows: one that it cannot read is tested in test/unit/storage'

for (const [where, environment] of [
  ['IndexedDB', {}],
  ['memory', { indexedDB: undefined }],
] as const) {
  describe(`S rejoin.storage on ${where}`, () => {
    sessionStorageSuite({
      test: testOrSkip(NO_BROKEN_ROWS),
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
