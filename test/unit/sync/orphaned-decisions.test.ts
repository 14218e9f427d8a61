import { isRejoinError, type Rejoin } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Snapshot } from '../../../src/contract/session-snapshot.ts'
import { snapshot } from '../contract/snapshots.ts'
import { talk } from '../core/sessions.ts'
import { message } from '../messages/tabs.ts'
import { createTestServer, eventually, SESSION, synced, type TestServer } from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let server: TestServer
let laptop: TestDevice
let phone: TestDevice
let others = 0

beforeEach(async () => {
  server = await createTestServer()
  laptop = createTestDevice('laptop', server.url)
  phone = createTestDevice('phone', server.url)
})

afterEach(async () => {
  await Promise.all([laptop.close(), phone.close()])
  await server.end()
  const expected = ['closed', 'storage-corrupt'] as const
  const errors = [...laptop.errors, ...phone.errors]
  expect(errors.filter((error) => !expected.some((code) => isRejoinError(error, code)))).toEqual([])
})

const load = async (rejoin: Rejoin) => (await rejoin.storage.load(SESSION)) as Snapshot
const decided = async (rejoin: Rejoin) => (await load(rejoin)).conversation?.decisions.map(({ messageId }) => messageId)
const shows = (cursor: number, ...ids: string[]) => snapshot({ sessionId: SESSION, cursor, conversation: talk(...ids) })

/** Upstream persists a decision by itself, and its message by another way: this one never comes. */
async function saveOrphan(tab: Rejoin): Promise<void> {
  await tab.memory(SESSION).save([message('u1', '/start')])
  expect(await tab.storage.save(shows(1, 'u1'), undefined)).toBe(true)
  await synced(tab)
  expect(await tab.storage.save(shows(2, 'u1', 'u2'), 1)).toBe(true)
}

/** Another session went out, and so the first one, which was to be sent before it, was looked at. */
async function lookedAgain(rejoin: Rejoin): Promise<void> {
  const other = `other-${++others}`
  await rejoin.storage.save(snapshot({ sessionId: other, cursor: 1 }), undefined)
  await eventually(() =>
    expect(rejoin.sessions.get().find(({ sessionId }) => sessionId === other)).toMatchObject({ unsent: false }),
  )
}

test('R8 a decision without its message is kept and not sent while its tab lives, and cut when the tab died', async () => {
  const second = await laptop.open()
  const first = await laptop.open()
  await saveOrphan(first)
  await lookedAgain(second)
  expect(await decided(second)).toEqual(['u1', 'u2'])
  expect(second.attention.get()).toEqual([])
  expect(second.status.get().unsent.snapshots).toBe(1)

  await first.close()
  second.retryNow()
  await eventually(() => expect(second.attention.get()).toMatchObject([{ kind: 'conversation-diverged' }]))
  expect(await load(second)).toMatchObject({ cursor: 3, conversation: talk('u1') })
  await synced(second)
  const b = await phone.open()
  expect(await decided(b)).toEqual(['u1'])
})

test('R8 a decision whose tab died is cut also while other tabs live that decided in the same session', async () => {
  const second = await laptop.open()
  const first = await laptop.open()
  await second.memory(SESSION).save([message('u1', '/start')])
  expect(await second.storage.save(shows(1, 'u1'), undefined)).toBe(true)
  await synced(second)
  const before = await load(first)
  expect(await first.storage.save(shows(2, 'u1', 'u2'), before.cursor)).toBe(true)
  // The other tab goes on with what it reads, and the decision does not become its own by that.
  const read = await load(second)
  expect(await second.storage.save({ ...read, cursor: 3 }, 2)).toBe(true)
  await lookedAgain(second)
  expect(await decided(second)).toEqual(['u1', 'u2'])

  await first.close()
  second.retryNow()
  await eventually(async () => expect(await decided(second)).toEqual(['u1']))
  await synced(second)
})

test('R8 a message that comes while its tab lives lets the decision go out whole', async () => {
  const second = await laptop.open()
  const first = await laptop.open()
  await saveOrphan(first)
  await lookedAgain(second)
  await first.memory(SESSION).save([...(await first.memory(SESSION).load()), message('u2', '/stop')])
  await synced(first)
  expect(await load(second)).toEqual(shows(2, 'u1', 'u2'))
  const b = await phone.open()
  expect(await decided(b)).toEqual(['u1', 'u2'])
  expect(second.attention.get()).toEqual([])
})

test('R8 a message that another device removed takes its decision along at once: no tab brings it back', async () => {
  const a = await laptop.open()
  await saveOrphan(a)
  await a.memory(SESSION).save([...(await a.memory(SESSION).load()), message('u2', '/stop')])
  await synced(a)
  const list = await a.memory(SESSION).load()
  await a.memory(SESSION).save(list.slice(0, 1))
  await a.storage.save({ ...shows(3, 'u1', 'u2'), updatedAt: '2026-10-02T00:00:00.000Z' }, 2)
  await eventually(async () => expect(await decided(a)).toEqual(['u1']))
})

test('R8 F33 while a message of the session cannot be read nothing is cut', async () => {
  const first = await laptop.open()
  await saveOrphan(first)
  laptop.goOffline()
  await first.memory(SESSION).save([...(await first.memory(SESSION).load()), message('u2', '/stop')])
  await laptop.close()
  await spoilLastUpdate()

  const again = await laptop.open()
  await again.memory(SESSION).load()
  laptop.goOnline()
  await lookedAgain(again)
  expect(await decided(again)).toEqual(['u1', 'u2'])
  expect(again.attention.get()).toEqual([])
})

test('R8 F33 nor is anything cut from what another device decided', async () => {
  const first = await laptop.open()
  await saveOrphan(first)
  await first.memory(SESSION).save([...(await first.memory(SESSION).load()), message('u2', '/stop')])
  await synced(first)
  const b = await phone.open()
  expect(await decided(b)).toEqual(['u1', 'u2'])
  await laptop.close()
  await spoilLastUpdate()
  await b.memory(SESSION).save([...(await b.memory(SESSION).load()), message('u3', '/start')])
  expect(await b.storage.save(shows(3, 'u1', 'u2', 'u3'), 2)).toBe(true)
  await synced(b)

  const again = await laptop.open()
  await eventually(async () => expect(await load(again)).toMatchObject(shows(3, 'u1', 'u2', 'u3')))
  expect(again.attention.get()).toEqual([])
})

/** The last row of messages on the laptop's disk cannot be read. */
async function spoilLastUpdate(): Promise<void> {
  const factory = laptop.environment.indexedDB
  const [database] = (await factory?.databases()) ?? []
  const opened = await new Promise<IDBDatabase>((resolve, reject) => {
    const request = factory?.open(database?.name ?? '')
    if (!request) return reject(new Error('There is no database.'))
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  await new Promise<void>((resolve, reject) => {
    const transaction = opened.transaction('updates', 'readwrite')
    const cursor = transaction.objectStore('updates').openCursor(null, 'prev')
    cursor.onsuccess = () => cursor.result?.update({ ...cursor.result.value, bytes: 'spoiled' })
    transaction.oncomplete = () => resolve()
    transaction.onerror = () => reject(transaction.error)
  })
  opened.close()
}
