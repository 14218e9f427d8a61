import { expect, test } from 'vitest'
import { eventually } from './support/eventually.ts'
import { openStage } from './support/stage.ts'
import { synced } from './support/synced.ts'

test('E2E 7 · G1 G2 G11 K1 a confirmation that never left its device is decided and run offline, and reaches other devices as approved', async () => {
  const { openDevice, counter } = await openStage()
  const laptop = await openDevice('Laptop')
  const phone = await openDevice('Phone')
  const watching = await laptop.openTab()
  await watching.send('hello')
  await synced(watching)
  const acting = await phone.openTab()
  await phone.goOffline()

  const token = await acting.propose('refund-1')
  expect(await acting.approve(token)).toBe('approved')
  expect(counter.effects()).toEqual([{ refundId: 'refund-1', device: 'Phone' }])
  expect(await watching.view()).toMatchObject({ confirmations: [] })

  await phone.goOnline()
  await eventually(() => watching.view()).toMatchObject({
    confirmations: [{ token, status: 'approved' }],
    claims: [{ token, mine: false, state: 'settled' }],
  })
  await eventually(() => acting.view()).toMatchObject({ status: { state: 'synced' }, attention: [] })
  await eventually(async () => (await watching.view()).chat).toEqual((await acting.view()).chat)
  expect(await watching.approve(token)).toBe('approved')
  expect(counter.count('refund-1')).toBe(1)
})
