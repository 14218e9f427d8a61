import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page, Route } from 'playwright-core'
import { expect, test } from 'vitest'
import { type DemoDevice, openDemo } from './support/demo.ts'
import { eventually } from './support/eventually.ts'

const FAST = '?tokenMs=0'

/** A refund that both devices can decide. */
async function proposeOnLaptop(laptop: DemoDevice, phone: DemoDevice): Promise<void> {
  await laptop.click('command-refund')
  for (const device of [laptop, phone]) await device.find('approve').waitFor()
  for (const device of [laptop, phone]) await eventually(device.status).toBe('synced')
}

/** Refunds of this page do not arrive, and their runs go on, until the returned function is called. */
async function holdRefunds(page: Page): Promise<() => Promise<void>> {
  const hold = async (route: Route) => {
    if (route.request().method() !== 'POST') await route.fallback()
  }
  await page.route('**/demo/refunds', hold)
  return () => page.unroute('**/demo/refunds', hold)
}

test('E2E 4 · G1 G9 F1 F15 in the demo both decide offline, and the card of the loser says where it was decided', async () => {
  const { laptop, phone, refundCount, complaints } = await openDemo(FAST)
  await proposeOnLaptop(laptop, phone)
  for (const device of [laptop, phone]) await device.click('network-switch')
  for (const device of [laptop, phone]) await eventually(device.status).toBe('offline')

  await laptop.click('reject')
  await phone.click('approve')
  await eventually(laptop.cards).toEqual(['queued: Your rejection waits for the connection. Nothing ran yet.'])
  await eventually(phone.cards).toEqual(['queued: Your approval waits for the connection. Nothing ran yet.'])
  await eventually(() => phone.find('status').textContent()).toBe('Offline · 1 chat with decisions to send')
  expect(await refundCount()).toBe('0')

  await phone.click('network-switch')
  await eventually(phone.cards).toEqual(['decided: Approved here.'])
  await laptop.click('network-switch')
  await eventually(laptop.cards).toEqual(['decided: Approved on Phone. Your rejection came second and did nothing.'])
  await eventually(refundCount).toBe('1')

  await laptop.click('propose-refund')
  await laptop.find('approve').click()
  await eventually(refundCount).toBe('2')
  for (const device of [laptop, phone]) await eventually(device.status).toBe('synced')
  await eventually(phone.words).toEqual(await laptop.words())
  expect(complaints).toEqual([])
})

test('G1 G3 C8 what the model calls for on the laptop is approved on the phone, and runs once', async () => {
  const { laptop, phone, refundCount, complaints } = await openDemo(FAST)
  await laptop.send('I want my money back')
  for (const device of [laptop, phone]) await device.find('approve').waitFor()
  expect(await refundCount()).toBe('0')
  await phone.click('approve')
  await eventually(phone.cards).toEqual(['decided: Approved here.'])
  await eventually(async () => (await laptop.cards()).join()).toMatch(/^decided: Approved( on Phone)?\.$/)
  expect(await refundCount()).toBe('1')
  await eventually(phone.words).toContain(
    'Refunded 25 € for order A-1042. That was the whole of it: one decision, one refund.',
  )
  expect(complaints).toEqual([])
})

test('E2E 1 · G6 G11 the demo without a server brings everything back after a reload, and no other device sees it', async () => {
  const { page, laptop, phone } = await openDemo(`${FAST}&server=none`)
  await laptop.send('/order')
  await laptop.click('propose-refund')
  await laptop.find('approve').waitFor()
  await page.reload()
  await laptop.find('approve').waitFor()
  expect(await laptop.words()).toHaveLength(2)
  expect(await laptop.find('conversation-state').textContent()).toBe('ordering')
  expect(await laptop.status()).toBe('local')
  expect(await phone.words()).toEqual([])
})

test('F1 a decision that waits for the connection can be taken back, and then nothing runs', async () => {
  const { laptop, phone, refundCount } = await openDemo(FAST)
  await proposeOnLaptop(laptop, phone)
  await laptop.click('network-switch')
  await laptop.click('approve')
  await laptop.click('withdraw')
  await laptop.find('approve').waitFor()
  await laptop.click('network-switch')
  await eventually(laptop.status).toBe('synced')
  await phone.click('reject')
  // The server names the holder of a decision while it runs; who looks later is told only how it ended.
  await eventually(async () => (await laptop.cards()).join()).toMatch(/^decided: Rejected( on Phone)?\.$/)
  expect(await refundCount()).toBe('0')
})

test('G2 F4 F16 a run that broke off asks on its card whether it ran, and runs again only after a person said no', async () => {
  const { page, laptop, phone, refundCount } = await openDemo(FAST)
  await proposeOnLaptop(laptop, phone)
  const letRefundsRun = await holdRefunds(page)
  await laptop.click('approve')
  await eventually(laptop.cards).toEqual(['running: Being run here …'])
  await page.reload()
  await laptop.find('it-did-not-run').waitFor()
  await eventually(phone.cards).toEqual(['running: Being run on Laptop …'])
  expect(await refundCount()).toBe('0')

  await letRefundsRun()
  await laptop.click('it-did-not-run')
  await phone.find('approve').click()
  await eventually(laptop.cards).toEqual(['decided: Approved on Phone.'])
  await eventually(refundCount).toBe('1')
})

test('G2 H14 a run that broke off and did happen is settled by a person, with a result in the conversation', async () => {
  const { page, laptop, phone } = await openDemo(`${FAST}&refund=slow`)
  await proposeOnLaptop(laptop, phone)
  await laptop.click('approve')
  await eventually(laptop.cards).toEqual(['running: Being run here …'])
  await page.reload()
  await laptop.click('it-ran')
  await eventually(laptop.cards).toEqual(['decided: Approved here.'])
  await eventually(phone.cards).toEqual(['decided: Approved on Laptop.'])
  await eventually(() => phone.find('confirmation-card').textContent()).toContain('A person found that it had run.')
})

test('the demo is used by keyboard alone: Enter sends, Escape stops, and no decision loses the focus', async () => {
  const { page, laptop } = await openDemo('?device=laptop&tokenMs=1000')
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-testid'))
  const order: (string | null | undefined)[] = []
  for (let presses = 0; presses < 20 && order.at(-1) !== 'send-input'; presses++) {
    await page.keyboard.press('Tab')
    order.push(await focused())
  }
  expect(order.filter((each) => each)).toEqual([
    'network-switch',
    'session',
    'new-session',
    'message-log',
    'command-help',
    'command-order',
    'command-refund',
    'propose-refund',
    'send-input',
  ])
  await page.keyboard.type('hello')
  await page.keyboard.press('Enter')
  await laptop.find('stop').waitFor()
  await page.keyboard.press('Escape')
  await laptop.find('send').waitFor()
  expect(await focused()).toBe('send-input')

  await laptop.find('propose-refund').focus()
  await page.keyboard.press('Enter')
  await laptop.find('reject').focus()
  await page.keyboard.press('Enter')
  await eventually(laptop.cards).toEqual(['decided: Rejected here.'])
  await eventually(focused).toBe('confirmation-card')
})

test('G11 the demo goes from a command to an approved refund by keyboard alone, without a server', async () => {
  const { page, laptop, refundCount } = await openDemo(`${FAST}&device=laptop&server=none`)
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-testid'))
  const tabTo = async (testId: string, key: 'Tab' | 'Shift+Tab') => {
    for (let presses = 0; presses < 20 && (await focused()) !== testId; presses++) await page.keyboard.press(key)
    expect(await focused()).toBe(testId)
  }
  await tabTo('send-input', 'Tab')
  await page.keyboard.type('/refund')
  await page.keyboard.press('Enter')
  await laptop.find('approve').waitFor()
  await tabTo('approve', 'Shift+Tab')
  await page.keyboard.press('Enter')
  await eventually(laptop.cards).toEqual(['decided: Approved here.'])
  await eventually(refundCount).toBe('1')
})

test('what is written is shown as text: markup of a message reaches the other device as letters', async () => {
  const { page, laptop, phone, complaints } = await openDemo(FAST)
  const markup = '<img src=x onerror=alert(1)><script>alert(1)</script>'
  let dialogs = 0
  page.on('dialog', (dialog) => {
    dialogs += 1
    return dialog.dismiss()
  })
  await laptop.send(markup)
  await eventually(async () => (await phone.words())[0]).toBe(markup)
  expect(await page.locator('ol img, ol script').count()).toBe(0)
  expect([dialogs, complaints]).toEqual([0, []])
})

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const WIDTHS = [390, 1280]

for (const colorScheme of ['light', 'dark'] as const) {
  test(`the demo has no barriers that axe knows, and nothing sticks out (${colorScheme}, ${WIDTHS.join(' and ')} px)`, async () => {
    // The policy of the page would keep the checker out, too.
    const { page, laptop, phone } = await openDemo(FAST, { colorScheme, bypassCSP: true })
    await proposeOnLaptop(laptop, phone)
    await phone.click('network-switch')
    await phone.click('approve')
    await phone.find('withdraw').waitFor()
    await page.addScriptTag({ content: axe })
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 844 })
      const found = await page.evaluate(async () => {
        const { violations } = await (window as unknown as { axe: { run: () => Promise<AxeResults> } }).axe.run()
        return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
      })
      expect(found).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
    }
  })
}

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
}
