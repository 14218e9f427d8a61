import { expect, test } from 'vitest'
import { eventually } from './support/eventually.ts'
import { createKillableBrowser } from './support/killable-browser.ts'
import { openStage } from './support/stage.ts'
import { stored, synced } from './support/synced.ts'
import { questions } from './support/transcript.ts'

test('E2E 6 · G2 G4 F14 a click of a device that was closed offline is sent when it opens online, and runs once, in the page that has the chat', async () => {
  const { openDevice, counter } = await openStage()
  const laptop = await openDevice('Laptop')
  const phone = await openDevice('Phone')
  const proposer = await laptop.openTab()
  const token = await proposer.propose('refund-1')
  await synced(proposer)
  const clicker = await phone.openTab()
  await eventually(() => clicker.view()).toMatchObject({ confirmations: [{ token, status: 'pending' }] })
  await phone.goOffline()
  expect(await clicker.approve(token)).toBe('claim-queued')
  await clicker.page.close()
  expect(counter.count('refund-1')).toBe(0)

  await phone.goOnline()
  // Any page sends it; nobody may run it but one that has the chat.
  const reopened = await phone.openTab({ session: false })
  await eventually(() => reopened.view()).toMatchObject({ claims: [{ token, mine: true, state: 'won' }] })
  expect(counter.count('refund-1')).toBe(0)
  expect(await reopened.chat('shared')).toBe('open')

  for (const tab of [reopened, proposer]) {
    await eventually(() => tab.view()).toMatchObject({
      confirmations: [{ token, status: 'approved' }],
      status: { state: 'synced' },
    })
  }
  expect(counter.effects()).toEqual([{ refundId: 'refund-1', device: 'Phone' }])
})

test('E2E 6 · G1 G2 a queued click that comes too late runs nothing when its device opens again', async () => {
  const { openDevice, counter } = await openStage()
  const laptop = await openDevice('Laptop')
  const phone = await openDevice('Phone')
  const decider = await laptop.openTab()
  const token = await decider.propose('refund-1')
  await synced(decider)
  const clicker = await phone.openTab()
  await eventually(() => clicker.view()).toMatchObject({ confirmations: [{ token, status: 'pending' }] })
  await phone.goOffline()
  expect(await clicker.approve(token)).toBe('claim-queued')
  await clicker.page.close()
  expect(await decider.approve(token)).toBe('approved')

  await phone.goOnline()
  const reopened = await phone.openTab()

  await eventually(() => reopened.view()).toMatchObject({
    confirmations: [{ token, status: 'approved' }],
    claims: [{ token, mine: false, state: 'lost', label: 'Laptop' }],
  })
  expect(counter.effects()).toEqual([{ refundId: 'refund-1', device: 'Laptop' }])
})

test('E2E 6 · G2 G4 F25 a click and a message of a device whose browser was killed right after are there when it starts again', async () => {
  const { openDevice, counter } = await openStage()
  const laptop = await openDevice('Laptop')
  const proposer = await laptop.openTab()
  const token = await proposer.propose('refund-1')
  await synced(proposer)
  const browser = await createKillableBrowser()
  const phone = await openDevice('Phone', await browser.start())
  const clicker = await phone.openTab()
  await phone.goOffline()
  await clicker.send('/order')
  await stored(clicker)
  expect(await clicker.approve(token)).toBe('claim-queued')
  await browser.kill()

  const restarted = await openDevice('Phone', await browser.start())
  const tab = await restarted.openTab()

  expect(questions(await tab.view())).toEqual(['/order'])
  for (const each of [tab, proposer]) {
    await eventually(() => each.view()).toMatchObject({
      state: 'ordering',
      confirmations: [{ token, status: 'approved' }],
      status: { state: 'synced' },
    })
  }
  expect(counter.effects()).toEqual([{ refundId: 'refund-1', device: 'Phone' }])
})
