import { describe, expect, test } from 'vitest'
import { eventually } from './support/eventually.ts'
import { openStage } from './support/stage.ts'

describe.each([
  { laptop: 'approve', phone: 'approve' },
  { laptop: 'approve', phone: 'reject' },
] as const)('the laptop says $laptop, the phone says $phone', (says) => {
  test.each(['laptop', 'phone'] as const)(
    'E2E 4 · G1 G2 G3 F1 F9 F15 both decide offline and the %s reconnects first: its decision stands and runs once, the other device is told who decided and goes on',
    async (first) => {
      const { openDevice, counter } = await openStage()
      const laptop = await openDevice('Laptop')
      const phone = await openDevice('Phone')
      const tabs = { laptop: await laptop.openTab(), phone: await phone.openTab() }
      const token = await tabs.laptop.propose('refund-1')
      await eventually(() => tabs.phone.view()).toMatchObject({
        confirmations: [{ token, status: 'pending' }],
        status: { state: 'synced' },
      })

      await Promise.all([laptop.goOffline(), phone.goOffline()])
      for (const name of ['laptop', 'phone'] as const) {
        expect(await tabs[name][says[name]](token)).toBe('claim-queued')
        await eventually(() => tabs[name].view()).toMatchObject({
          confirmations: [{ token, status: 'pending', queued: says[name] === 'approve' ? 'approving' : 'rejecting' }],
        })
      }
      expect(counter.count('refund-1')).toBe(0)

      const [winner, loser] = first === 'laptop' ? [laptop, phone] : [phone, laptop]
      const [winning, losing] = first === 'laptop' ? [tabs.laptop, tabs.phone] : [tabs.phone, tabs.laptop]
      const outcome = says[first] === 'approve' ? 'approved' : 'rejected'
      await winner.goOnline()
      await eventually(() => winning.view()).toMatchObject({
        confirmations: [{ token, status: outcome }],
        claims: [{ token, mine: true, state: 'settled' }],
        status: { state: 'synced' },
      })
      await loser.goOnline()
      await eventually(() => losing.view()).toMatchObject({
        confirmations: [{ token, status: outcome }],
        claims: [{ token, mine: false, state: 'lost', label: first === 'laptop' ? 'Laptop' : 'Phone' }],
        attention: [],
        status: { state: 'synced' },
      })
      expect(counter.count('refund-1')).toBe(outcome === 'approved' ? 1 : 0)

      await losing.send('and now something else')
      const next = await losing.propose('refund-2')
      await eventually(() => losing.view()).toMatchObject({ status: { state: 'synced' } })
      expect(await losing.approve(next)).toBe('approved')
      await eventually(() => winning.view()).toMatchObject({
        confirmations: [
          { token, status: outcome },
          { token: next, status: 'approved' },
        ],
      })
      expect(counter.count('refund-1')).toBe(outcome === 'approved' ? 1 : 0)
      expect(counter.count('refund-2')).toBe(1)
    },
  )
})

test('E2E 4 · G1 G2 F1 F9 two devices that click in the same moment, one of them over a slow line, run it once between them', async () => {
  const { openDevice, counter } = await openStage()
  const [laptop, phone] = [await openDevice('Laptop'), await openDevice('Phone')]
  const [a, b] = [await laptop.openTab(), await phone.openTab()]
  for (const refundId of ['refund-1', 'refund-2', 'refund-3']) {
    const token = await a.propose(refundId)
    const waiting = { confirmations: expect.arrayContaining([expect.objectContaining({ token, status: 'pending' })]) }
    await eventually(() => b.view()).toMatchObject({ ...waiting, status: { state: 'synced' } })
    laptop.cable.delay(refundId === 'refund-2' ? 300 : 0)
    phone.cable.delay(refundId === 'refund-3' ? 300 : 0)

    const outcomes = await Promise.all([a.approve(token), b.approve(token)])

    // Who lost is told so, or finds it approved already.
    expect(['approved', 'claim-queued', 'SessionConflictError']).toEqual(expect.arrayContaining(outcomes))
    const approved = { confirmations: expect.arrayContaining([expect.objectContaining({ token, status: 'approved' })]) }
    for (const tab of [a, b]) {
      await eventually(() => tab.view()).toMatchObject({ ...approved, attention: [], status: { state: 'synced' } })
    }
    expect(counter.count(refundId)).toBe(1)
  }
})
