import { isRejoinError, type Rejoin } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
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

test('G9 no tab of a device says synced while the session that the feed named is not fetched', async () => {
  const a = await laptop.open()
  await say(await deskChat(a, 'laptop', refunds), '/start')
  await synced(a)

  let release = () => {}
  let asked = false
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const { timers } = phone.environment
  const environment = {
    ...phone.environment,
    async fetch(...[input, init]: Parameters<typeof fetch>) {
      if (String(input).endsWith(`/v1/sessions/${SESSION}`)) {
        asked = true
        await gate
      }
      return phone.environment.fetch(input, init)
    },
    // Whatever would be said after a while is said at once.
    timers: {
      ...timers,
      setTimeout: (run: () => void, ms: number) => timers.setTimeout(run, ms === STEADY_MS ? 0 : ms),
    },
  }
  const leading = await phone.open({ environment })
  const following = await phone.open({ environment })
  const states = [statesOf(leading), statesOf(following)]
  await eventually(() => expect(asked).toBe(true))
  await eventually(() => expect(following.status.get().state).toBe('syncing'))
  expect(states.flat()).not.toContain('synced')
  release()
  for (const tab of [leading, following]) await eventually(() => expect(tab.status.get().state).toBe('synced'))
  expect(following.sessions.get()).toMatchObject([{ sessionId: SESSION, updatedAt: expect.any(String) }])
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
