import { expect, test } from 'vitest'
import * as Y from 'yjs'
import { createSessionChanges } from '../../sync-server/src/session-changes.ts'
import type { Store } from '../../sync-server/src/store.ts'
import { openSqliteStore } from '../../sync-server/src/store-sqlite.ts'
import { createUpdateLog } from '../../sync-server/src/update-log.ts'
import { craftUpdate, text } from './crafted-update.ts'

const caller = { account: 'acme', sub: 'ann', device: 'a' }
const one = craftUpdate({ clients: text(7, 0, 'one') })
const two = craftUpdate({ clients: text(7, 3, ' two') })
const three = craftUpdate({ clients: text(7, 7, ' three') })

function logOn(store: Store, maxSessionBytes = 1000) {
  const changes = createSessionChanges()
  const relayed: number[] = []
  changes.subscribe(({ head }) => relayed.push(head))
  const server = { name: 'rejoin', store, now: () => 1 }
  const log = createUpdateLog({ server, changes, newIncarnation: () => 'fresh', maxSessionBytes })
  const append = async (...updates: Uint8Array[]) => {
    const { reply, stateVector } = await log.append(caller, 's1', { incarnation: 'i1', updates })
    return {
      ...(reply.body as { head?: number; code?: string }),
      ...(stateVector && { has: Y.decodeStateVector(stateVector) }),
    }
  }
  return { log, append, relayed }
}

test('updates that come together are each looked at on what the one before left', async () => {
  const store = await openSqliteStore({ file: ':memory:' })
  const { append, relayed } = logOn(store)
  const answers = await Promise.all([append(one), append(two), append(three)])
  expect(answers.map(({ head }) => head)).toEqual([1, 2, 3])
  expect(relayed).toEqual([1, 2, 3])
  await store.close()
})

test('what the log has is known again after a restart', async () => {
  const store = await openSqliteStore({ file: ':memory:' })
  await logOn(store).append(one, two)
  const restarted = logOn(store)
  expect(await restarted.append(craftUpdate({ clients: text(7, 99, 'x') }))).toMatchObject({
    code: 'gap',
    has: new Map([[7, 7]]),
  })
  expect(await restarted.append(one)).toMatchObject({ head: 2 })
  expect(await restarted.append(three)).toMatchObject({ head: 3 })
  await store.close()
})

test('another process that wrote to the same log is noticed', async () => {
  const store = await openSqliteStore({ file: ':memory:' })
  const [left, right] = [logOn(store), logOn(store)]
  expect(await left.append(one)).toMatchObject({ head: 1 })
  expect(await right.append(two)).toMatchObject({ head: 2 })
  expect(await left.append(two)).toMatchObject({ head: 2 })
  expect(await left.append(three)).toMatchObject({ head: 3 })
  await store.close()
})

test('G4 an update whose commit failed is not known, not relayed, and can be sent again', async () => {
  const store = await openSqliteStore({ file: ':memory:' })
  let broken = false
  const failing: Store = {
    ...store,
    decide: async (scope, decide) => {
      if (!broken) return store.decide(scope, decide)
      await store.decide(scope, (state) => {
        decide(state)
        return { result: undefined }
      })
      throw new Error('the disk is full')
    },
  }
  const { append, relayed } = logOn(failing)
  await append(one)
  broken = true
  await expect(append(two)).rejects.toThrow('the disk is full')
  broken = false
  expect(await append(three)).toMatchObject({ code: 'gap', has: new Map([[7, 3]]) })
  expect(await append(two, three)).toMatchObject({ head: 3 })
  expect(relayed).toEqual([1, 3])
  await store.close()
})

test('G4 what came right behind an update that could not be written does not count on it', async () => {
  const store = await openSqliteStore({ file: ':memory:' })
  let broken = false
  const failing: Store = {
    ...store,
    decide: (scope, decide) => {
      const fails = broken
      broken = false
      return store.decide(scope, (state) => {
        const decided = decide(state)
        const [update] = decided.change?.updates ?? []
        if (!fails || !decided.change || !update) return decided
        return { ...decided, change: { ...decided.change, updates: [{ ...update, bytes: undefined as never }] } }
      })
    },
  }
  const { append } = logOn(failing)
  await append(one)
  broken = true
  const [lost, behind] = await Promise.allSettled([append(two), append(three)])
  expect(lost.status).toBe('rejected')
  expect(behind).toMatchObject({ value: { code: 'gap', has: new Map([[7, 3]]) } })
  expect(await append(two, three)).toMatchObject({ head: 3 })
  await store.close()
})

test('F33 a damaged row of the log does not keep the session from going on', async () => {
  const store = await openSqliteStore({ file: ':memory:' })
  await logOn(store).append(one)
  await store.decide({ ...caller, sessionId: 's1' }, ({ session }) => ({
    change: session
      ? {
          session: { ...session, head: 2 },
          updates: [{ seq: 2, device: 'a', at: 1, bytes: Uint8Array.of(1, 2, 3) }],
        }
      : {},
    result: undefined,
  }))
  expect(await logOn(store).append(two)).toMatchObject({ head: 3 })
  await store.close()
})

test('the messages of one session are bounded, and what is refused leaves them as they were', async () => {
  const store = await openSqliteStore({ file: ':memory:' })
  const { append } = logOn(store, one.length + two.length)
  await append(one)
  expect(await append(two, three)).toMatchObject({ code: 'too-large' })
  expect(await append(two)).toMatchObject({ head: 2 })
  expect(await append(three)).toMatchObject({ code: 'too-large' })
  await store.close()
})

test('a stock peer writes to the session that lives, and makes one where none was', async () => {
  const store = await openSqliteStore({ file: ':memory:' })
  const { log, append } = logOn(store)
  const first = await log.append(caller, 's2', { updates: [one] })
  expect(first.reply.body).toMatchObject({ incarnation: 'fresh', head: 1 })
  await append(one)
  const second = await log.append(caller, 's1', { updates: [two] })
  expect(second.reply.body).toMatchObject({ incarnation: 'i1', head: 2 })
  await store.close()
})
