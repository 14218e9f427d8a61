import { expect, test } from 'vitest'
import type { SessionStorage } from '../../../src/contract/session-storage.ts'
import { sessionStorageSuite } from '../../../src/testing/session-storage-suite.ts'
import { createMemorySessionStorage } from './memory-session-storage.ts'

const supports = { delete: true, accounts: true, corrupt: true }

sessionStorageSuite({
  test: Object.assign((name: string, run: () => Promise<void>) => test(`storage suite: ${name}`, run), {
    skip: (name: string) => test(`storage suite: ${name}`, ({ skip }) => skip('the reference is declared to lack it')),
  }),
  expect,
  create() {
    const storage = createMemorySessionStorage()
    return { storage, otherAccount: createMemorySessionStorage(), corrupt: (id) => storage.corrupt(id, '{"half":') }
  },
  supports,
})

/** The names of the rules that a storage breaks. */
async function broken(create: () => SessionStorage): Promise<string[]> {
  const failures: string[] = []
  const rules: { name: string; run: () => Promise<void> }[] = []
  sessionStorageSuite({
    test: Object.assign((name: string, run: () => Promise<void>) => rules.push({ name, run }), {
      skip: () => undefined,
    }),
    expect,
    create: () => ({ storage: create() }),
    supports: { delete: true, accounts: false, corrupt: false },
  })
  for (const { name, run } of rules) await run().catch(() => failures.push(name))
  return failures
}

test('F34 the suite refuses a storage whose last writer wins', async () => {
  const failures = await broken(() => {
    const { save: _, ...rest } = createMemorySessionStorage()
    const rows = new Map<string, unknown>()
    return {
      ...rest,
      load: async (sessionId) => rows.get(sessionId),
      save: async (snapshot) => {
        rows.set(snapshot.sessionId, snapshot)
        return true
      },
      delete: async (sessionId) => {
        rows.delete(sessionId)
      },
    }
  })
  expect(failures.length).toBeGreaterThan(8)
  expect(failures).toContain('F34 of two concurrent saves at one cursor exactly one is stored, 100 rounds long')
  expect(failures).toContain('G8 an update of a deleted session is a conflict and does not bring it back')
  expect(failures).toContain('what a caller does to a snapshot after saving it changes nothing stored')
})

test('F34 the suite refuses a storage that compares in one step and sets in another', async () => {
  const failures = await broken(() => {
    const reference = createMemorySessionStorage()
    const rows = new Map<string, string>()
    return {
      ...reference,
      load: async (sessionId) => {
        const row = rows.get(sessionId)
        return row && JSON.parse(row)
      },
      save: async (snapshot, expected) => {
        const row = rows.get(snapshot.sessionId)
        await Promise.resolve()
        if ((row && JSON.parse(row).cursor) !== expected) return false
        rows.set(snapshot.sessionId, JSON.stringify(snapshot))
        return true
      },
    }
  })
  expect(failures).toContain('F34 of two concurrent creates exactly one is stored')
  expect(failures).toContain('F34 of two concurrent saves at one cursor exactly one is stored, 100 rounds long')
})

test('the suite finds nothing wrong with the reference', async () => {
  expect(await broken(createMemorySessionStorage)).toEqual([])
})
