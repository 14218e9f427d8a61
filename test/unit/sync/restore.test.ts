import { copyFile, rename } from 'node:fs/promises'
import { type Environment, isRejoinError, type Message, type Rejoin } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  createTestServer,
  deskChat,
  eventually,
  type Refunds,
  SESSION,
  say,
  statuses,
  synced,
  type TestServer,
  texts,
} from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let server: TestServer
let laptop: TestDevice
let phone: TestDevice
let ran: Refunds['ran']
let during: () => Promise<void>
const refunds: Refunds = {
  get ran() {
    return ran
  },
  during: () => during(),
}

beforeEach(async () => {
  server = await createTestServer()
  laptop = createTestDevice('laptop', server.url)
  phone = createTestDevice('phone', server.url)
  ran = new Map()
  during = async () => {}
})

afterEach(async () => {
  await Promise.all([laptop.close(), phone.close()])
  await server.end()
  expect([...laptop.errors, ...phone.errors].filter((error) => !isRejoinError(error, 'closed'))).toEqual([])
})

const refund = (id: string) => ({ name: 'refund', input: { id } })

/** Both devices are back, and both look again: what a page does when the network returns. */
async function reconnect(): Promise<void> {
  laptop.goOnline()
  phone.goOnline()
}

test('I5 F48 G4 G5 after a restore both devices give back all that the backup lacks, once, and nothing runs again', async () => {
  const a = await laptop.open()
  const b = await phone.open()
  const chatA = await deskChat(a, 'laptop', refunds)
  await say(chatA, 'before')
  const first = await chatA.confirmation.propose(refund('first'))
  await synced(a)
  const chatB = await deskChat(b, 'phone', refunds)
  await synced(b)
  await server.backUp()
  await reconnect()

  await eventually(() => expect(a.status.get().state).toBe('synced'))
  await chatA.confirmation.approve(first.token, SESSION)
  await say(chatA, '/start')
  const second = await chatA.confirmation.propose(refund('second'))
  await synced(a)
  await eventually(() => expect(statuses(chatB)).toEqual({ first: 'approved', second: 'pending' }))
  await chatB.confirmation.approve(second.token, SESSION)
  await say(chatB, 'after')
  const other = await deskChat(a, 'laptop', refunds, { sessionId: 'order-2' })
  await say(other, 'a session that the backup does not have')
  await synced(b)
  await synced(a)
  await eventually(() => expect(texts(a)).toEqual(texts(b)))
  const transcript = texts(a)

  await server.restore()
  await reconnect()
  // The server has it all: a device that was never there is told everything.
  const tablet = createTestDevice('tablet', server.url)
  const c = await tablet.open()
  const chatC = await deskChat(c, 'tablet', refunds)
  await eventually(() => expect(texts(c)).toEqual(transcript))
  await eventually(() => expect(statuses(chatC)).toEqual({ first: 'approved', second: 'approved' }))
  await deskChat(c, 'tablet', refunds, { sessionId: 'order-2' })
  await eventually(() => expect(texts(c, 'order-2')).toEqual(texts(a, 'order-2')))
  for (const rejoin of [a, b, c]) await synced(rejoin)
  for (const rejoin of [a, b]) expect(texts(rejoin)).toEqual(transcript)
  for (const chat of [chatA, chatB]) {
    expect(statuses(chat)).toEqual({ first: 'approved', second: 'approved' })
    expect(chat.session.getConversationSnapshot()?.state).toBe('active')
  }
  expect(Object.fromEntries(ran)).toEqual({ first: ['laptop'], second: ['phone'] })
  await tablet.close()
  expect(tablet.errors).toEqual([])
})

test('I5 F48 a device that only heard of what another one wrote and ran gives that back too', async () => {
  const a = await laptop.open()
  const b = await phone.open()
  const chatA = await deskChat(a, 'laptop', refunds)
  await say(chatA, 'before')
  const record = await chatA.confirmation.propose(refund('first'))
  await synced(a)
  const before = await deskChat(b, 'phone', refunds)
  await server.backUp()
  await reconnect()
  await eventually(() => expect(a.status.get().state).toBe('synced'))
  await chatA.confirmation.approve(record.token, SESSION)
  await say(chatA, 'after')
  await eventually(() => expect(statuses(before)).toEqual({ first: 'approved' }))
  await synced(a)
  await eventually(() => expect(texts(b)).toEqual(texts(a)))
  await synced(b)
  const transcript = texts(a)
  await laptop.close()
  await phone.close()

  await server.restore()
  // The session is open nowhere: what there is goes by HTTP.
  const again = await phone.open()
  await eventually(() => expect(again.status.get().state).toBe('synced'))
  const tablet = createTestDevice('tablet', server.url)
  const c = await tablet.open()
  const chatC = await deskChat(c, 'tablet', refunds)
  expect(texts(c)).toEqual(transcript)
  expect(statuses(chatC)).toEqual({ first: 'approved' })
  const chatB = await deskChat(again, 'phone', refunds)
  expect(texts(again)).toEqual(transcript)
  expect(statuses(chatB)).toEqual({ first: 'approved' })
  expect(ran.get('first')).toEqual(['laptop'])
  await tablet.close()
})

test('I5 G1 G2 a claim that runs while the server is restored is asserted, and nobody else gets it', async () => {
  const a = await laptop.open()
  const b = await phone.open()
  const chatA = await deskChat(a, 'laptop', refunds)
  const record = await chatA.confirmation.propose(refund('first'))
  await synced(a)
  const chatB = await deskChat(b, 'phone', refunds)
  await synced(b)
  await server.backUp()
  await reconnect()
  await eventually(() => expect(a.status.get().state).toBe('synced'))
  phone.goOffline()
  let finish = () => {}
  during = () =>
    new Promise((resolve) => {
      finish = resolve
    })
  const approving = chatA.confirmation.approve(record.token, SESSION)
  await eventually(() => expect(ran.get('first')).toEqual(['laptop']))
  laptop.goOffline()

  await server.restore()
  phone.goOnline()
  await eventually(() => expect(b.status.get().state).toBe('synced'))
  // The backup shows it pending, and the phone never heard of the run.
  expect(statuses(chatB)).toEqual({ first: 'pending' })
  await chatB.confirmation.approve(record.token, SESSION).catch(() => {})
  await eventually(() => expect(b.claims.get()).toMatchObject([{ state: 'refused', problem: { code: 'restored' } }]))
  laptop.goOnline()
  await eventually(() => expect(statuses(chatB)).toEqual({ first: 'approving' }))
  finish()
  await approving
  await eventually(() => expect(statuses(chatB)).toEqual({ first: 'approved' }))
  expect(ran.get('first')).toEqual(['laptop'])
  await synced(a)
  await synced(b)
  expect(statuses(chatA)).toEqual({ first: 'approved' })
})

test('I5 I2 an id that was made again on the restored server is joined: both keep all they have, and go on together', async () => {
  await server.backUp()
  const a = await laptop.open()
  const chatA = await deskChat(a, 'laptop', refunds)
  await say(chatA, 'before')
  await synced(a)
  laptop.goOffline()
  await server.restore()
  const b = await phone.open()
  const chatB = await deskChat(b, 'phone', refunds)
  await say(chatB, 'made again')
  await synced(b)

  laptop.goOnline()
  await eventually(() => expect(texts(b)).toContain('before'))
  await eventually(() => expect(texts(a)).toEqual(texts(b)))
  await synced(a)
  // The phone is told at once, and so is the laptop: its socket is in the room of the incarnation that lives.
  const record = await chatB.confirmation.propose(refund('first'))
  await eventually(() => expect(statuses(chatA)).toEqual({ first: 'pending' }))
  await chatA.confirmation.approve(record.token, SESSION)
  await eventually(() => expect(statuses(chatB)).toEqual({ first: 'approved' }))
  expect(ran.get('first')).toEqual(['laptop'])
})

/** The requests of a device, apart from its looks at the feed, which tell when the server is restored. */
function watchRequests(device: TestDevice) {
  const sent: string[] = []
  let looks = 0
  const environment: Environment = {
    ...device.environment,
    fetch(input, init) {
      if (String(input).includes('/v1/sessions?')) looks++
      else sent.push(`${init?.method ?? 'GET'} ${String(input)}`)
      return device.environment.fetch(input, init)
    },
  }
  async function looksAgain(rejoin: Rejoin): Promise<void> {
    for (let times = 0; times < 3; times++) {
      const before = looks
      rejoin.retryNow()
      await eventually(() => expect(looks).toBeGreaterThan(before))
    }
  }
  return { sent, environment, looksAgain }
}

/** Everything goes by HTTP. */
function noSocket({ environment }: TestDevice): Environment['WebSocket'] {
  return class extends environment.WebSocket {
    constructor() {
      super('ws://127.0.0.1:9')
    }
  }
}

async function putBackByHand(): Promise<void> {
  await server.stop()
  await copyFile(server.file.replace('data', 'backup'), server.file)
  await server.start()
}

const isServerBehind = (rejoin: Rejoin) =>
  eventually(() => expect(rejoin.status.get()).toMatchObject({ state: 'error', code: 'server-behind' }))

test('I5 a server whose file was put back by hand is noticed: nothing is sent to it until it is restored', async () => {
  const { sent, environment, looksAgain } = watchRequests(laptop)
  const a = await laptop.open({ environment })
  const chatA = await deskChat(a, 'laptop', refunds)
  await say(chatA, 'before')
  await synced(a)
  await server.backUp()
  laptop.goOnline()
  await eventually(() => expect(a.status.get().state).toBe('synced'))
  await say(chatA, 'after')
  const record = await chatA.confirmation.propose(refund('first'))
  await synced(a)
  await server.stop()
  await eventually(() => expect(a.status.get().state).toBe('offline'))
  sent.length = 0
  await putBackByHand()
  laptop.goOnline()
  await isServerBehind(a)
  await say(chatA, 'meanwhile')
  await expect(chatA.confirmation.approve(record.token, SESSION)).rejects.toMatchObject({ code: 'claim-queued' })
  await looksAgain(a)
  expect(sent).toEqual([])
  expect(a.status.get().state).toBe('error')

  await server.restore()
  laptop.goOnline()
  await synced(a)
  const b = await phone.open()
  await deskChat(b, 'phone', refunds)
  expect(texts(b)).toEqual(texts(a))
  // What became of it since the backup nobody knows: a person is asked.
  expect(ran.size).toBe(0)
})

test.each(['a message', 'a step', 'a click'] as const)(
  'I5 G1 where only the session shows that the data went back, %s is the last that is sent, and nothing runs',
  async (what) => {
    const { sent, environment, looksAgain } = watchRequests(laptop)
    const a = await laptop.open({ environment: { ...environment, WebSocket: noSocket(laptop) } })
    const chatA = await deskChat(a, 'laptop', refunds)
    const record = await chatA.confirmation.propose(refund('first'))
    await synced(a)
    await server.backUp()
    laptop.goOnline()
    await eventually(() => expect(a.status.get().state).toBe('synced'))
    await say(chatA, '/start')
    await say(chatA, 'after')
    await synced(a)
    await putBackByHand()
    const b = await phone.open()
    for (const sessionId of ['other-1', 'other-2', 'other-3', 'other-4']) {
      await say(await deskChat(b, 'phone', refunds, { sessionId }), '/start')
    }
    await synced(b)
    laptop.goOnline()
    if (what === 'a message') await say(chatA, 'more')
    else if (what === 'a step') await say(chatA, '/stop')
    else await expect(chatA.confirmation.approve(record.token, SESSION)).rejects.toMatchObject({ code: 'claim-queued' })
    await isServerBehind(a)
    sent.length = 0
    laptop.goOnline()
    await looksAgain(a)
    expect(sent).toEqual([])
    expect(a.status.get()).toMatchObject({ state: 'error', code: 'server-behind' })
    expect(ran.size).toBe(0)
  },
)

test('I5 G4 what one restored server has already is given to the next one, which has not', async () => {
  const backup = server.file.replace('data', 'backup')
  await server.backUp()
  await rename(backup, `${backup}.empty`)
  let restores = 0
  let afterLook = async () => {}
  const fetchWatched: typeof fetch = async (input, init) => {
    const response = await laptop.environment.fetch(input, init)
    if (/updates\?/.test(String(input))) await afterLook()
    return response
  }
  const environment = { ...laptop.environment, fetch: fetchWatched, WebSocket: noSocket(laptop) }
  const a = await laptop.open({ environment })
  // Nothing was ever deleted in it: what is sent of a document that nothing is missing of is empty, and leaves no gap.
  const message: Message = { id: 'm1', role: 'user', content: 'before', status: 'complete', createdAt: new Date(0) }
  await a.memory(SESSION).save([message])
  await synced(a)
  await a.close()
  await server.backUp()
  await server.restore()

  afterLook = async () => {
    afterLook = async () => {}
    await rename(`${backup}.empty`, backup)
    await server.restore()
    restores++
  }
  // By HTTP alone: it looks what the server lacks, which is nothing, and then that server is gone.
  const again = await laptop.open({ environment })
  await eventually(() => expect(restores).toBe(1))
  await synced(again)
  const b = await phone.open()
  expect(await b.memory(SESSION).load()).toMatchObject([{ id: 'm1', content: 'before' }])
})
