import { openRejoin } from 'rejoin'
import { sessionStorageSuite } from 'rejoin/testing'
import { describe, expect, test } from 'vitest'

describe('S rejoin.storage in a real browser', () => {
  sessionStorageSuite({
    test,
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
