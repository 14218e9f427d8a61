import { expect, test } from 'vitest'
import { eventually } from './support/eventually.ts'
import { openStage } from './support/stage.ts'
import { synced } from './support/synced.ts'

const SCHEDULES = [
  { laptop: 'approve', phone: 'approve', first: 'laptop' },
  { laptop: 'approve', phone: 'approve', first: 'phone' },
  { laptop: 'approve', phone: 'reject', first: 'laptop' },
  { laptop: 'approve', phone: 'reject', first: 'phone' },
] as const

test.each(SCHEDULES)(
  'E2E 4 · G1 G2 G3 F1 F15 offline the laptop says $laptop and the phone $phone, the $first reconnects first: it decides, it runs once or not at all, and the other device is told and goes on',
  async ({ first, ...says }) => {
    const { openDevice, counter } = await openStage()
    const devices = { laptop: await openDevice('Laptop'), phone: await openDevice('Phone') }
    const proposer = await devices.laptop.openTab()
    const token = await proposer.propose('refund-1')
    await synced(proposer)
    const tabs = { laptop: proposer, phone: await devices.phone.openTab() }
    expect(await tabs.phone.view()).toMatchObject({ confirmations: [{ token, status: 'pending' }] })

    for (const name of ['laptop', 'phone'] as const) {
      await devices[name].goOffline()
      expect(await tabs[name][says[name]](token)).toBe('claim-queued')
      await eventually(() => tabs[name].view()).toMatchObject({
        confirmations: [{ token, status: 'pending', queued: says[name] === 'approve' ? 'approving' : 'rejecting' }],
      })
    }
    expect(counter.count('refund-1')).toBe(0)

    const second = first === 'laptop' ? 'phone' : 'laptop'
    const [winning, losing] = [tabs[first], tabs[second]]
    const outcome = says[first] === 'approve' ? 'approved' : 'rejected'
    await devices[first].goOnline()
    await eventually(() => winning.view()).toMatchObject({
      confirmations: [{ token, status: outcome }],
      claims: [{ token, mine: true, state: 'settled' }],
      status: { state: 'synced' },
    })
    await devices[second].goOnline()
    await eventually(() => losing.view()).toMatchObject({
      confirmations: [{ token, status: outcome }],
      claims: [{ token, mine: false, state: 'lost', label: first === 'laptop' ? 'Laptop' : 'Phone' }],
      attention: [],
      status: { state: 'synced' },
    })
    expect(counter.count('refund-1')).toBe(outcome === 'approved' ? 1 : 0)

    await losing.send('and now something else')
    const next = await losing.propose('refund-2')
    await synced(losing)
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

test('E2E 4 · G1 G2 F1 F9 two devices that click in the same moment, one of them over a slow line, run it once between them', async () => {
  const { openDevice, counter } = await openStage()
  const [laptop, phone] = [await openDevice('Laptop'), await openDevice('Phone')]
  const [a, b] = [await laptop.openTab(), await phone.openTab()]
  for (const refundId of ['refund-1', 'refund-2', 'refund-3']) {
    const token = await a.propose(refundId)
    const pending = { confirmations: expect.arrayContaining([expect.objectContaining({ token, status: 'pending' })]) }
    await eventually(() => b.view()).toMatchObject({ ...pending, status: { state: 'synced' } })
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
