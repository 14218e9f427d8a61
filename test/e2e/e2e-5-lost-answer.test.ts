import { expect, test } from 'vitest'
import { eventually } from './support/eventually.ts'
import { openStage } from './support/stage.ts'
import { synced } from './support/synced.ts'

test('E2E 5 · G1 G2 G4 F2 a claim whose answer was lost with the server is still won after its restart, and another device learns that it lost', async () => {
  const { openDevice, counter, server } = await openStage()
  const laptop = await openDevice('Laptop')
  const phone = await openDevice('Phone')
  const a = await laptop.openTab()
  const token = await a.propose('refund-1')
  await synced(a)
  const b = await phone.openTab()

  const lost = laptop.cable.loseAnswer(/^PUT \S+\/claims\//)
  const clicked = a.approve(token)
  await lost
  await server.kill()
  expect(await clicked).toBe('claim-queued')
  expect(await b.approve(token)).toBe('claim-queued')
  expect(counter.count('refund-1')).toBe(0)

  await server.start()
  // The later device asks first: what was committed before the kill decides, not who comes back sooner.
  await b.retryNow()
  await eventually(() => b.view()).toMatchObject({
    claims: [{ token, mine: false, state: 'lost', label: 'Laptop' }],
  })
  laptop.cable.heal()
  await a.retryNow()
  await eventually(() => a.view()).toMatchObject({
    confirmations: [{ token, status: 'approved' }],
    claims: [{ token, mine: true, state: 'settled' }],
    status: { state: 'synced' },
  })
  await eventually(() => b.view()).toMatchObject({
    confirmations: [{ token, status: 'approved' }],
    status: { state: 'synced' },
  })
  expect(counter.effects()).toEqual([{ refundId: 'refund-1', device: 'Laptop' }])
})
