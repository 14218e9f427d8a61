import { describe, expect, test } from 'vitest'
import type { Device } from './support/device.ts'
import { eventually } from './support/eventually.ts'
import { openStage } from './support/stage.ts'
import { synced } from './support/synced.ts'
import type { Tab } from './support/tab.ts'
import { questions } from './support/transcript.ts'

interface Pair {
  readonly laptop: { readonly device: Device; readonly tab: Tab }
  readonly phone: { readonly device: Device; readonly tab: Tab }
}

describe.each(['laptop', 'phone'] as const)('the %s reconnects first', (first) => {
  const second = first === 'laptop' ? 'phone' : 'laptop'

  async function reconnect(pair: Pair): Promise<void> {
    await pair[first].device.goOnline()
    await synced(pair[first].tab)
    await pair[second].device.goOnline()
  }

  test('E2E 3 · G5 G6 G7 G11 F19 F47 two devices that chatted and took steps offline show one transcript, and the diverged steps are reported', async () => {
    const { openDevice } = await openStage()
    const pair = await openPair(openDevice)
    await pair.laptop.tab.send('hello')
    await eventually(async () => questions(await pair.phone.tab.view())).toEqual(['hello'])
    await Promise.all([pair.laptop.device.goOffline(), pair.phone.device.goOffline()])
    await pair.laptop.tab.send('on the laptop')
    await pair.laptop.tab.send('/order')
    await pair.phone.tab.send('on the phone')
    await pair.phone.tab.send('/help')

    await reconnect(pair)

    await level(pair, ['hello', 'on the laptop', '/order', 'on the phone', '/help'])
    const replaced = second === 'laptop' ? '/order' : '/help'
    expect(await pair[first].tab.view()).toMatchObject({ attention: [] })
    expect(await pair[second].tab.view()).toMatchObject({
      attention: [{ kind: 'conversation-diverged', sessionId: 'shared', decisions: [{ input: replaced }] }],
    })
    await goOn(pair)
  })

  test('E2E 3 · G5 G11 steps that only one device took offline stand, and nothing is reported', async () => {
    const { openDevice } = await openStage()
    const pair = await openPair(openDevice)
    await pair.laptop.tab.send('/help')
    await eventually(async () => questions(await pair.phone.tab.view())).toEqual(['/help'])
    await eventually(() => pair.phone.tab.load('shared')).toMatchObject({ conversation: { state: 'browsing' } })
    await Promise.all([pair.laptop.device.goOffline(), pair.phone.device.goOffline()])
    await pair.laptop.tab.send('/order')
    await pair.laptop.tab.send('/confirm')
    await pair.phone.tab.send('on the phone')

    await reconnect(pair)

    await level(pair, ['/help', '/order', '/confirm', 'on the phone'])
    for (const { tab } of [pair.laptop, pair.phone]) {
      expect(await tab.view()).toMatchObject({ state: 'placed', attention: [] })
    }
    await goOn(pair)
  })

  test('E2E 3 · G5 G6 G7 G11 two devices that made the same session offline keep the messages, the confirmations and one of the two ways', async () => {
    const { openDevice } = await openStage()
    const pair = await openPair(openDevice, false)
    await Promise.all([pair.laptop.device.goOffline(), pair.phone.device.goOffline()])
    await Promise.all([pair.laptop.tab.chat('shared'), pair.phone.tab.chat('shared')])
    await pair.laptop.tab.send('on the laptop')
    await pair.laptop.tab.send('/order')
    const ofLaptop = await pair.laptop.tab.propose('refund-laptop')
    await pair.phone.tab.send('on the phone')
    await pair.phone.tab.send('/help')
    const ofPhone = await pair.phone.tab.propose('refund-phone')

    await reconnect(pair)

    await level(pair, ['on the laptop', '/order', 'on the phone', '/help'])
    for (const { tab } of [pair.laptop, pair.phone]) {
      const tokens = (await tab.view()).confirmations.map(({ token, status }) => `${token} ${status}`)
      expect(tokens.sort()).toEqual([`${ofLaptop} pending`, `${ofPhone} pending`].sort())
    }
    expect(await pair[second].tab.view()).toMatchObject({ attention: [{ kind: 'conversation-diverged' }] })
    await goOn(pair)
  })
})

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

async function openPair(openDevice: (label: string) => Promise<Device>, session?: false): Promise<Pair> {
  const open = async (label: string) => {
    const device = await openDevice(label)
    return { device, tab: await device.openTab(session === undefined ? {} : { session }) }
  }
  return { laptop: await open('Laptop'), phone: await open('Phone') }
}

/** Both show the same, hold the same, and know that the server has it; nothing that was said is missing. */
async function level({ laptop, phone }: Pair, said: readonly string[]): Promise<void> {
  for (const { tab } of [laptop, phone]) {
    await eventually(async () => [...questions(await tab.view())].sort()).toEqual([...said].sort())
    await synced(tab)
  }
  await eventually(async () => shownBy(laptop.tab)).toEqual(await shownBy(phone.tab))
  const { confirmations, conversation } = (await laptop.tab.load('shared')) ?? {}
  await eventually(() => phone.tab.load('shared')).toMatchObject({ confirmations, conversation })
}

async function shownBy(tab: Tab) {
  const { chat, state, confirmations } = await tab.view()
  return { chat, state, confirmations }
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
  await eventually(() => shownBy(laptop.tab)).toEqual(await shownBy(phone.tab))
}
