import { expect, test } from 'vitest'
import { eventually } from './support/eventually.ts'
import { openStageWithoutServer } from './support/stage.ts'
import { stored } from './support/synced.ts'
import { questions } from './support/transcript.ts'

test('E2E 1 · G4 G6 G11 F13 a reload without any server brings back messages, route state and a pending confirmation', async () => {
  const { openDevice, counter } = await openStageWithoutServer()
  const laptop = await openDevice('Laptop')
  const tab = await laptop.openTab()
  await tab.send('hello')
  await tab.send('/order')
  const token = await tab.propose('refund-1')
  await stored(tab)
  const before = await tab.view()

  await laptop.reload(tab)

  const after = await tab.view()
  expect(questions(after)).toEqual(['hello', '/order'])
  expect(after.chat).toEqual(before.chat)
  expect(after.state).toBe('ordering')
  expect(after.confirmations).toEqual(before.confirmations)
  expect(after.status).toMatchObject({ state: 'local' })
  expect(await tab.approve(token)).toBe('approved')
  expect(counter.count('refund-1')).toBe(1)
})

test('E2E 1 · G5 F34 F41 what is typed in one tab shows in the other, in both directions and without a server', async () => {
  const { openDevice } = await openStageWithoutServer()
  const laptop = await openDevice('Laptop')
  const a = await laptop.openTab()
  await a.send('/order')
  const b = await laptop.openTab()
  expect(questions(await b.view())).toEqual(['/order'])
  expect((await b.view()).state).toBe('ordering')

  await a.send('typed in a')
  await eventually(async () => questions(await b.view())).toEqual(['/order', 'typed in a'])
  await b.send('/confirm')
  await eventually(async () => questions(await a.view())).toEqual(['/order', 'typed in a', '/confirm'])
  await eventually(() => a.view()).toMatchObject({ state: 'placed' })

  await eventually(async () => (await a.view()).chat).toEqual((await b.view()).chat)
})

test('E2E 1 · G1 F9 F13 two tabs show one confirmation, and what one of them decides is decided in the other', async () => {
  const { openDevice, counter } = await openStageWithoutServer()
  const laptop = await openDevice('Laptop')
  const a = await laptop.openTab()
  const b = await laptop.openTab()
  const token = await a.propose('refund-1')
  await eventually(() => b.view()).toMatchObject({ confirmations: [{ token, status: 'pending' }] })

  const [inA, inB] = await Promise.all([a.approve(token), b.approve(token)])

  expect([inA, inB]).toContain('approved')
  for (const tab of [a, b]) {
    await eventually(() => tab.view()).toMatchObject({ confirmations: [{ token, status: 'approved' }] })
  }
  expect(counter.count('refund-1')).toBe(1)
})
