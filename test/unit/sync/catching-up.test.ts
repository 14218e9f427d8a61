import { type Environment, isRejoinError, type Rejoin } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Snapshot } from '../../../src/contract/session-snapshot.ts'
import { STEADY_MS } from '../../../src/sync/status.ts'
import { createTestServer, deskChat, eventually, type Refunds, SESSION, say, synced, type TestServer } from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let server: TestServer
let laptop: TestDevice
let phone: TestDevice
const refunds: Refunds = { ran: new Map(), during: async () => {} }

beforeEach(async () => {
  server = await createTestServer()
  laptop = createTestDevice('laptop', server.url)
  phone = createTestDevice('phone', server.url)
})

afterEach(async () => {
  await Promise.all([laptop.close(), phone.close()])
  await server.end()
  expect([...laptop.errors, ...phone.errors].filter((error) => !isRejoinError(error, 'closed'))).toEqual([])
})

/** All states that a tab shows. */
function statesOf(rejoin: Rejoin): readonly string[] {
  const states: string[] = [rejoin.status.get().state]
  rejoin.status.subscribe(() => states.push(rejoin.status.get().state))
  return states
}

/** A phone on which what would be said after a while is said at once, and that is not answered for its session at first. */
function gatedPhone() {
  const gate = { asked: false, closed: false, open: () => {} }
  const opened = new Promise<void>((resolve) => {
    gate.open = resolve
  })
  const { timers, fetch } = phone.environment
  const environment: Environment = {
    ...phone.environment,
    async fetch(input, init) {
      if (gate.closed && String(input).endsWith(`/v1/sessions/${SESSION}`)) {
        gate.asked = true
        await opened
      }
      return fetch(input, init)
    },
    timers: { ...timers, setTimeout: (run, ms) => timers.setTimeout(run, ms === STEADY_MS ? 0 : ms) },
  }
  return { gate, environment }
}

test('G9 no tab of a device says synced while the session that the feed named is not fetched', async () => {
  const a = await laptop.open()
  await say(await deskChat(a, 'laptop', refunds), '/start')
  await synced(a)
  const { gate, environment } = gatedPhone()
  gate.closed = true
  const leading = await phone.open({ environment })
  const following = await phone.open({ environment })
  const states = [statesOf(leading), statesOf(following)]
  await eventually(() => expect(gate.asked).toBe(true))
  await eventually(() => expect(following.status.get().state).toBe('syncing'))
  expect(states.flat()).not.toContain('synced')
  gate.open()
  for (const tab of [leading, following]) await eventually(() => expect(tab.status.get().state).toBe('synced'))
  expect(following.sessions.get()).toMatchObject([{ sessionId: SESSION, updatedAt: expect.any(String) }])
})

test('G9 a device that comes back says synced when it fetched what happened meanwhile, not before', async () => {
  const a = await laptop.open()
  const chatA = await deskChat(a, 'laptop', refunds)
  await say(chatA, '/start')
  await synced(a)
  const { gate, environment } = gatedPhone()
  const b = await phone.open({ environment })
  await eventually(() =>
    expect(b.sessions.get()).toMatchObject([{ sessionId: SESSION, updatedAt: expect.any(String) }]),
  )
  await eventually(() => expect(b.status.get().state).toBe('synced'))
  phone.goOffline()
  await say(chatA, '/stop')
  await synced(a)
  gate.closed = true
  const states = statesOf(b)
  phone.goOnline()
  await eventually(() => expect(gate.asked).toBe(true))
  await eventually(() => expect(b.status.get().state).toBe('syncing'))
  expect(states).not.toContain('synced')
  gate.open()
  await eventually(() => expect(b.status.get().state).toBe('synced'))
  expect((await b.storage.load(SESSION)) as Snapshot).toMatchObject({ conversation: { state: 'idle' } })
})

test('G9 F36 a tab that leads after the one before was closed tells what it knows of the connection', async () => {
  const a = await laptop.open()
  const b = await laptop.open()
  const c = await laptop.open()
  for (const tab of [a, b, c]) await eventually(() => expect(tab.status.get().state).toBe('synced'))
  await a.close()
  await say(await deskChat(b, 'laptop', refunds), '/start')
  for (const tab of [b, c]) await eventually(() => expect(tab.status.get().state).toBe('synced'))
})
