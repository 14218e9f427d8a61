import { expect, test } from 'vitest'
import type { Device } from './support/device.ts'
import { eventually, eventuallyEqual } from './support/eventually.ts'
import type { ServerProcess } from './support/server-process.ts'
import { requestsTo } from './support/server-requests.ts'
import { openStage } from './support/stage.ts'
import { synced } from './support/synced.ts'
import type { Tab } from './support/tab.ts'
import { questions } from './support/transcript.ts'

const ORDERS = [
  { first: 'laptop', second: 'phone' },
  { first: 'phone', second: 'laptop' },
] as const

test.each(ORDERS)(
  'E2E 3 · G5 G6 G7 G11 F19 F47 two devices that chatted and took steps offline show one transcript, and the diverged steps are reported ($first first)',
  async ({ first, second }) => {
    const pair = await openPair('hello')
    await goOffline(pair)
    await pair.laptop.tab.send('on the laptop')
    await pair.laptop.tab.send('/order')
    await pair.phone.tab.send('on the phone')
    await pair.phone.tab.send('/help')

    await reconnect(pair[first], pair[second])

    await level(pair, ['hello', 'on the laptop', '/order', 'on the phone', '/help'])
    const replaced = second === 'laptop' ? '/order' : '/help'
    expect(await pair[first].tab.view()).toMatchObject({ attention: [] })
    expect(await pair[second].tab.view()).toMatchObject({
      attention: [{ kind: 'conversation-diverged', sessionId: 'shared', decisions: [{ input: replaced }] }],
    })
    await goOn(pair)
  },
)

test.each(ORDERS)(
  'E2E 3 · G5 G11 steps that only one device took offline stand, and nothing is reported ($first first)',
  async ({ first, second }) => {
    const pair = await openPair('/help')
    await goOffline(pair)
    await pair.laptop.tab.send('/order')
    await pair.laptop.tab.send('/confirm')
    await pair.phone.tab.send('on the phone')

    await reconnect(pair[first], pair[second])

    await level(pair, ['/help', '/order', '/confirm', 'on the phone'])
    for (const { tab } of [pair.laptop, pair.phone]) {
      expect(await tab.view()).toMatchObject({ state: 'placed', attention: [] })
    }
    await goOn(pair)
  },
)

test.each(ORDERS)(
  'E2E 3 · G5 G6 G7 G11 I2 two devices that made the same session offline keep the messages, the confirmations and one of the two ways ($first first)',
  async ({ first, second }) => {
    const pair = await openPair()
    await goOffline(pair)
    await Promise.all([pair.laptop.tab.chat('shared'), pair.phone.tab.chat('shared')])
    await pair.laptop.tab.send('on the laptop')
    await pair.laptop.tab.send('/order')
    const ofLaptop = await pair.laptop.tab.propose('refund-laptop')
    await pair.phone.tab.send('on the phone')
    await pair.phone.tab.send('/help')
    const ofPhone = await pair.phone.tab.propose('refund-phone')

    await reconnect(pair[first], pair[second])

    await level(pair, ['on the laptop', '/order', 'on the phone', '/help'])
    for (const { tab } of [pair.laptop, pair.phone]) {
      const tokens = (await tab.view()).confirmations.map(({ token, status }) => `${token} ${status}`)
      expect(tokens.sort()).toEqual([`${ofLaptop} pending`, `${ofPhone} pending`].sort())
    }
    expect(await pair[second].tab.view()).toMatchObject({ attention: [{ kind: 'conversation-diverged' }] })
    await goOn(pair)
  },
)

test('E2E 3 · G6 R8 a device that opens a session for the first time gets its messages and its state together', async () => {
  const { openDevice } = await openStage()
  const laptop = await openDevice('Laptop')
  const tab = await laptop.openTab()
  await tab.send('hello')
  await tab.send('/order')
  const token = await tab.propose('refund-1')
  await synced(tab)

  const tablet = await openDevice('Tablet')
  const first = await (await tablet.openTab()).view()

  expect(first.chat).toEqual((await tab.view()).chat)
  expect(first.state).toBe('ordering')
  expect(first.confirmations).toMatchObject([{ token, status: 'pending' }])
})

interface Side {
  readonly device: Device
  readonly tab: Tab
}

interface Pair {
  readonly server: ServerProcess
  readonly laptop: Side
  readonly phone: Side
}

/** Two devices in a chat that begins with `said`; without it, two that have no chat open. */
async function openPair(said?: string): Promise<Pair> {
  const { openDevice, server } = await openStage()
  const open = async (label: string) => {
    const device = await openDevice(label)
    return { device, tab: await device.openTab(said === undefined ? { session: false } : {}) }
  }
  const laptop = await open('Laptop')
  if (said !== undefined) {
    await laptop.tab.send(said)
    await synced(laptop.tab)
  }
  return { server, laptop, phone: await open('Phone') }
}

async function goOffline({ laptop, phone }: Pair): Promise<void> {
  await Promise.all([laptop.device.goOffline(), phone.device.goOffline()])
}

async function reconnect(first: Side, second: Side): Promise<void> {
  await first.device.goOnline()
  await synced(first.tab)
  await second.device.goOnline()
}

/** Both show the same and hold what the server holds, and they know it; nothing that was said is missing. */
async function level({ server, laptop, phone }: Pair, said: readonly string[]): Promise<void> {
  for (const { tab } of [laptop, phone]) {
    await eventually(async () => [...questions(await tab.view())].sort()).toEqual([...said].sort())
    await synced(tab)
  }
  await eventuallyEqual(
    () => shownBy(laptop.tab),
    () => shownBy(phone.tab),
  )
  for (const { tab } of [laptop, phone]) {
    await eventuallyEqual(
      () => storedBy(tab),
      () => storedByServer(server),
    )
  }
}

async function shownBy(tab: Tab) {
  const { chat, state, confirmations } = await tab.view()
  return { chat, state, confirmations }
}

async function storedBy(tab: Tab) {
  const { confirmations, conversation } = (await tab.load('shared')) ?? {}
  return { confirmations, conversation }
}

async function storedByServer({ url }: ServerProcess) {
  const { confirmations, conversation } = (await requestsTo(url).get('/v1/sessions/shared')).body.snapshot
  return { confirmations, conversation }
}

/** Both sessions resume, and what either of them says next arrives at the other. */
async function goOn({ laptop, phone }: Pair): Promise<void> {
  await laptop.device.reload(laptop.tab)
  await phone.device.reload(phone.tab)
  await laptop.tab.send('again on the laptop')
  await phone.tab.send('again on the phone')
  for (const { tab } of [laptop, phone]) {
    await eventually(async () => questions(await tab.view())).toContain('again on the laptop')
    await eventually(async () => questions(await tab.view())).toContain('again on the phone')
  }
  await Promise.all([synced(laptop.tab), synced(phone.tab)])
  await eventuallyEqual(
    () => shownBy(laptop.tab),
    () => shownBy(phone.tab),
  )
}
