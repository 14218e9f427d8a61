import { createChatSession, isRejoinError, type Rejoin } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Confirmation, Snapshot } from '../../../src/contract/session-snapshot.ts'
import { confirmation, snapshot } from '../contract/snapshots.ts'
import { createTestServer, SESSION, synced, type TestServer } from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let server: TestServer
let laptop: TestDevice

beforeEach(async () => {
  server = await createTestServer()
  laptop = createTestDevice('laptop', server.url)
})

afterEach(async () => {
  await laptop.close()
  await server.end()
  expect(laptop.errors.filter((error) => !isRejoinError(error, 'closed'))).toEqual([])
})

const first = (status: Confirmation['status'] = 'pending') => confirmation({ status })
const second = (status: Confirmation['status'] = 'pending') =>
  confirmation({ token: 'confirm-2', toolCallId: 'app-2', status })

async function load(rejoin: Rejoin): Promise<Snapshot> {
  return (await rejoin.storage.load(SESSION)) as Snapshot
}

/** A session whose first confirmation runs here, by permission of the server, and whose second the server decides. */
async function openWithOneRunning(): Promise<{ readonly rejoin: Rejoin; readonly stored: Snapshot }> {
  const rejoin = await laptop.open()
  const begun = snapshot({ sessionId: SESSION, cursor: 0, confirmations: [first(), second()] })
  expect(await rejoin.storage.save(begun, undefined)).toBe(true)
  await synced(rejoin)
  const { cursor } = await load(rejoin)
  expect(
    await rejoin.storage.save({ ...begun, cursor: cursor + 1, confirmations: [first('approving'), second()] }, cursor),
  ).toBe(true)
  laptop.goOffline()
  return { rejoin, stored: await load(rejoin) }
}

/** As upstream's queue does: the next save is built as soon as the claim rejected, for the cursor that it was for. */
async function clickAndLeaveOver(rejoin: Rejoin, stored: Snapshot, leftover: readonly Confirmation[]) {
  const clicked = { ...stored, cursor: stored.cursor + 1, confirmations: [first('approving'), second('approving')] }
  await expect(rejoin.storage.save(clicked, stored.cursor)).rejects.toMatchObject({ code: 'claim-queued' })
  return rejoin.storage.save({ ...clicked, confirmations: leftover }, stored.cursor)
}

test('R10 a save at the cursor of a claim that just rejected is false and leaves the cursor raised', async () => {
  const { rejoin, stored } = await openWithOneRunning()
  expect(await clickAndLeaveOver(rejoin, stored, [first('approving'), second()])).toBe(false)
  expect(await load(rejoin)).toEqual({ ...stored, cursor: stored.cursor + 1 })
})

test('R10 K6 G1 such a save still records the outcome that it brings', async () => {
  const { rejoin, stored } = await openWithOneRunning()
  expect(await clickAndLeaveOver(rejoin, stored, [first('approved'), second()])).toBe(false)
  const after = await load(rejoin)
  expect(after.cursor).toBe(stored.cursor + 1)
  expect(after.confirmations).toMatchObject([{ status: 'approved' }, { status: 'pending' }])
  expect(rejoin.claims.get()).toMatchObject([
    { token: 'confirm-1', state: 'settled' },
    { token: 'confirm-2', state: 'waiting' },
  ])
  laptop.goOnline()
  await synced(rejoin)
})

test('R10 nothing of our own session layer is left over', async () => {
  const { rejoin, stored } = await openWithOneRunning()
  const chat = { adapter: { createSource: () => ({ async *stream() {}, abort() {} }) } }
  const session = createChatSession({ id: 'desk', chat }, { sessionId: SESSION, storage: rejoin.storage })
  expect(await clickAndLeaveOver(rejoin, stored, [first('approving'), second()])).toBe(true)
  session.close()
})

test('R10 after the next task a save at that cursor is as any other', async () => {
  const { rejoin, stored } = await openWithOneRunning()
  const clicked = { ...stored, cursor: stored.cursor + 1, confirmations: [first('approving'), second('approving')] }
  await expect(rejoin.storage.save(clicked, stored.cursor)).rejects.toMatchObject({ code: 'claim-queued' })
  await new Promise((resolve) => setTimeout(resolve, 0))
  expect(await rejoin.storage.save({ ...clicked, confirmations: stored.confirmations }, stored.cursor)).toBe(true)
})
