import { openRejoin } from 'rejoin'
import { chatMemorySuite } from 'rejoin/testing'
import { describe, expect, test } from 'vitest'

describe('M rejoin.memory in a real browser', () => {
  chatMemorySuite({
    test,
    expect,
    async create() {
      const realm = crypto.randomUUID()
      const tabs: Awaited<ReturnType<typeof openRejoin>>[] = []
      const openTab = async () => {
        const tab = await openRejoin({ account: 'acme', realm })
        tabs.push(tab)
        return tab
      }
      const tab = await openTab()
      return {
        memory: tab.memory('s1'),
        open: async () => (await openTab()).memory('s1'),
        otherSession: tab.memory('s2'),
        async close() {
          await Promise.all(tabs.map((each) => each.close()))
        },
      }
    },
    supports: { clear: true, signals: true, sessions: true },
  })
})
