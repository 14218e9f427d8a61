import { type Environment, isRejoinError, type Rejoin } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createTestServer, deskChat, eventually, type Refunds, SESSION, synced, type TestServer } from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let server: TestServer
let laptop: TestDevice
let refunds: Refunds

beforeEach(async () => {
  server = await createTestServer()
  laptop = createTestDevice('laptop', server.url)
  refunds = { ran: new Map(), during: async () => {} }
})

afterEach(async () => {
  await laptop.close()
  await server.end()
  expect(laptop.errors.filter((error) => !isRejoinError(error, 'closed'))).toEqual([])
})

/** A laptop without live sockets whose messages do not get through until they may; `log` says what it sent of them. */
async function openHeldUp(options: { readonly refusedForGood: boolean; readonly indexedDB?: undefined }) {
  const { environment } = laptop
  const log: string[] = []
  const line = { open: false, looks: 0 }
  const held: Partial<Environment> = {
    WebSocket: class extends environment.WebSocket {
      constructor() {
        super('ws://127.0.0.1:9')
      }
    },
    async fetch(input, init) {
      const { pathname, search } = new URL(String(input))
      if (search.startsWith('?since=')) line.looks++
      const what = pathname.endsWith('/updates') && init?.method === 'POST' ? 'messages' : undefined
      if (what && !line.open) {
        const problem = { code: options.refusedForGood ? 'forbidden' : 'unavailable', message: 'No.', at: Date.now() }
        const body = JSON.stringify({ ...problem, retryable: !options.refusedForGood })
        return new Response(body, { status: options.refusedForGood ? 403 : 503 })
      }
      if (what) log.push(what)
      else if (pathname.includes('/claims/')) log.push('claim')
      return environment.fetch(input, init)
    },
    ...('indexedDB' in options && { indexedDB: undefined }),
  }
  const rejoin: Rejoin = await laptop.open({ environment: { ...environment, ...held } })
  async function looksAgain(): Promise<void> {
    const before = line.looks
    rejoin.retryNow()
    await eventually(() => expect(line.looks).toBeGreaterThan(before))
  }
  return { rejoin, log, line, looksAgain }
}

test('K1 K2 what a device decided alone is not told while its messages are refused, and goes after them', async () => {
  const { rejoin, log, line, looksAgain } = await openHeldUp({ refusedForGood: true })
  const chat = await deskChat(rejoin, 'laptop', refunds)
  const record = await chat.confirmation.propose({ name: 'refund', input: { id: '1' } })
  await chat.confirmation.approve(record.token, SESSION)
  await eventually(() => expect(rejoin.attention.get()).toMatchObject([{ kind: 'refused', sessionId: SESSION }]))
  for (let times = 0; times < 3; times++) await looksAgain()
  expect(log).toEqual([])
  line.open = true
  await rejoin.attention.retry(SESSION)
  await synced(rejoin)
  expect(log[0]).toBe('messages')
  expect(log).toContain('claim')
  expect(refunds.ran.get('1')).toEqual(['laptop'])
})

test('K1 K2 where nothing lasts the server decides, after it has the message: until then the click is kept', async () => {
  const { rejoin, log, line } = await openHeldUp({ refusedForGood: false, indexedDB: undefined })
  const chat = await deskChat(rejoin, 'laptop', refunds)
  const record = await chat.confirmation.propose({ name: 'refund', input: { id: '1' } })
  await expect(chat.confirmation.approve(record.token, SESSION)).rejects.toMatchObject({ code: 'claim-queued' })
  expect(log).toEqual([])
  line.open = true
  rejoin.retryNow()
  await eventually(() => expect(refunds.ran.get('1')).toEqual(['laptop']))
  await eventually(() => expect(chat.session.getConfirmations()).toMatchObject([{ status: 'approved' }]))
  expect(log.slice(0, 2)).toEqual(['messages', 'claim'])
})
