import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { openDemo } from './support/demo.ts'
import { eventually } from './support/eventually.ts'

/** A small phone, on which a conversation is soon longer than the screen. */
const PHONE: BrowserContextOptions = { viewport: { width: 375, height: 600 }, hasTouch: true, isMobile: true }
const ONE_DEVICE = '?device=phone&tokenMs=0'

/** Clicks without scrolling there first, as the driver does by itself. */
function tap(page: Page, testId: string): Promise<void> {
  return page.evaluate((id) => document.querySelector<HTMLElement>(`[data-testid=${id}]`)?.click(), testId)
}

async function scrollUp(page: Page): Promise<void> {
  await page.getByTestId('message-log').evaluate((log) => {
    log.scrollTop = 0
    scrollTo(0, 0)
  })
}

function isInView(page: Page, testId: string): Promise<boolean> {
  return page
    .getByTestId(testId)
    .last()
    .evaluate((element) => {
      const { left, top, width, height } = element.getBoundingClientRect()
      return document.elementFromPoint(left + width / 2, top + height / 2) === element
    })
}

test('on a phone the page is as large as what is seen of it, with many chats and a long conversation', async () => {
  const { page, phone } = await openDemo(ONE_DEVICE, PHONE)
  const size = () =>
    page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight, innerWidth])
  const before = await size()
  for (let chats = 1; chats < 6; chats++) {
    await tap(page, 'new-session')
    await phone.send('/help')
    await phone.find('message').nth(1).waitFor()
  }
  await eventually(() => phone.find('session').count()).toBe(5)
  for (let turns = 1; turns < 4; turns++) {
    await tap(page, 'command-help')
    await phone
      .find('message')
      .nth(turns * 2 + 1)
      .waitFor()
  }
  expect(await size()).toEqual(before)
  expect(before[0]).toBe(375)
})

test.each([
  ['prepared by hand', (page: Page) => tap(page, 'propose-refund')],
  [
    'called for by the model',
    async (page: Page) => {
      await page.getByTestId('send-input').fill('my money back')
      await scrollUp(page)
      await tap(page, 'send')
    },
  ],
])('on a phone the card of a refund %s comes into view', async (_, ask) => {
  const { page, phone } = await openDemo(ONE_DEVICE, PHONE)
  for (let turns = 0; turns < 3; turns++) {
    await tap(page, 'command-help')
    await phone
      .find('message')
      .nth(turns * 2 + 1)
      .waitFor()
  }
  await scrollUp(page)
  await ask(page)
  await phone.find('approve').waitFor()
  await eventually(() => isInView(page, 'reject')).toBe(true)
})

test('F50 the network switch is the device’s: a second tab shows it, and a reload does not turn it', async () => {
  const { page, phone, server } = await openDemo(ONE_DEVICE)
  const second = await page.context().newPage()
  await second.goto(`${server.url}/${ONE_DEVICE}`)
  const stateIn = (tab: Page) => tab.getByTestId('network-switch').getAttribute('aria-checked')
  await phone.click('network-switch')
  await eventually(() => stateIn(second)).toBe('false')
  await eventually(() => second.getByTestId('status').getAttribute('data-state')).toBe('offline')
  await second.reload()
  expect(await stateIn(second)).toBe('false')
  await second.getByTestId('network-switch').click()
  await eventually(() => stateIn(page)).toBe('true')
  await eventually(phone.status).toBe('synced')
})
