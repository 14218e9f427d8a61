import { openRejoin } from 'rejoin'
import { sessionStorageSuite } from 'rejoin/testing'
import { describe, expect } from 'vitest'
import { testOrSkip } from '../../test-or-skip.ts'

describe('S rejoin.storage in a real browser', () => {
  sessionStorageSuite({
    test: testOrSkip('only the database writes rows: one that it cannot read is tested in test/unit/storage'),
    expect,
    async create() {
      const realm = crypto.randomUUID()
      const [rejoin, other] = await Promise.all([
        openRejoin({ account: 'acme', realm }),
        openRejoin({ account: 'other', realm }),
      ])
      return {
        storage: rejoin.storage,
        otherAccount: other.storage,
        async close() {
          await Promise.all([rejoin.close(), other.close()])
        },
      }
    },
    supports: { delete: true, accounts: true, corrupt: false },
  })
})
