import { type Environment, isRejoinError } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createTestServer, deskChat, eventually, SESSION, say, synced, type TestServer, texts } from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let server: TestServer
let laptop: TestDevice
let phone: TestDevice
const refunds = { ran: new Map(), during: async () => {} }

beforeEach(async () => {
  server = await createTestServer()
  laptop = createTestDevice('laptop', server.url)
  phone = createTestDevice('phone', server.url)
})

afterEach(async () => {
  await Promise.all([laptop.close(), phone.close()])
  await server.end()
  const errors = [...laptop.errors, ...phone.errors]
  expect(errors.filter((error) => !isRejoinError(error, 'closed') && !isRejoinError(error, 'deleted'))).toEqual([])
})

type Fetch = Environment['fetch']

/** The device, with something between it and the server that answers in its place. */
function behind(device: TestDevice, between: (fetch: Fetch) => Fetch): Environment {
  return { ...device.environment, fetch: between(device.environment.fetch) }
}

const asJson = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status })

test('G8 F50 a deletion that a proxy answered is told again, until the server has heard of it', async () => {
  let deletions = 0
  const environment = behind(laptop, (fetch) => async (input, init) => {
    if (init?.method !== 'DELETE' || ++deletions > 2) return fetch(input, init)
    return asJson({ error: 'blocked' }, deletions === 1 ? 403 : 200)
  })
  const a = await laptop.open({ environment })
  const chat = await deskChat(a, 'laptop', refunds)
  await say(chat, 'hi')
  await synced(a)
  chat.close()
  await a.storage.delete?.(SESSION)
  await eventually(() => expect(deletions).toBe(3))
  await eventually(() => expect(a.status.get()).toMatchObject({ state: 'synced' }))
  const answer = await fetch(`${server.url}/v1/sessions/${SESSION}`, { headers: { 'rejoin-device': 'test' } })
  expect(answer.status).toBe(404)
})

test('F62 a feed that says that it goes on, and does not, is asked again as a server that is out of reach', async () => {
  let asked = 0
  let waits = 0
  let odd = true
  const { timers } = laptop.environment
  const setTimeout: Environment['timers']['setTimeout'] = (run, ms) =>
    timers.setTimeout(() => {
      waits++
      run()
    }, ms)
  const environment = behind(laptop, (fetch) => async (input, init) => {
    const response = await fetch(input, init)
    if (!odd || !String(input).includes('since=')) return response
    asked++
    return asJson({ ...(await response.json()), items: [], more: true })
  })
  const a = await laptop.open({ environment: { ...environment, timers: { ...timers, setTimeout } } })
  await eventually(() => expect(asked).toBeGreaterThan(4))
  expect(asked).toBeLessThanOrEqual(waits + 1)
  expect(a.status.get().state).not.toBe('synced')
  odd = false
  await say(await deskChat(a, 'laptop', refunds), 'hi')
  await synced(a)
})

test('R8 a log that ends before what the snapshot names is not all of it, and nothing of the snapshot is cut', async () => {
  const a = await laptop.open()
  const chatA = await deskChat(a, 'laptop', refunds)
  await say(chatA, '/start')
  await synced(a)
  let short = 0
  const environment = behind(phone, (fetch) => async (input, init) => {
    const response = await fetch(input, init)
    if (!String(input).includes('/updates?') || ++short > 2) return response
    return asJson({ ...(await response.json()), head: 0, updates: [], more: false })
  })
  const b = await phone.open({ environment })
  await eventually(() => expect(short).toBeGreaterThan(2))
  await synced(b)
  const chatB = await deskChat(b, 'phone', refunds)
  expect(chatB.session.getConversationSnapshot()?.state).toBe('active')
  expect(texts(b)).toEqual(['/start', 'started'])
  await say(chatA, '/stop')
  await eventually(() => expect(chatB.session.getConversationSnapshot()?.state).toBe('idle'))
  expect([...a.attention.get(), ...b.attention.get()]).toEqual([])
})
