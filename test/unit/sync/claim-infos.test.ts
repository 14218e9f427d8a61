import { SignJWT } from 'jose'
import { isRejoinError, type Rejoin } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  createTestServer,
  deskChat,
  eventually,
  type Refunds,
  SESSION,
  statuses,
  synced,
  type TestServer,
} from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

const SECRET = 'a secret that is thirty-two bytes long'
let server: TestServer
let laptop: TestDevice
let phone: TestDevice
let tablet: TestDevice
let refunds: { ran: Map<string, string[]>; during: () => Promise<void> }

beforeEach(async () => {
  server = await createTestServer({ jwtSecret: SECRET })
  laptop = createTestDevice('laptop', server.url)
  phone = createTestDevice('phone', server.url)
  tablet = createTestDevice('tablet', server.url)
  refunds = { ran: new Map(), during: async () => {} } satisfies Refunds
})

afterEach(async () => {
  await Promise.all([laptop, phone, tablet].map((device) => device.close()))
  await server.end()
  expect(
    [laptop, phone, tablet].flatMap(({ errors }) => errors).filter((error) => !isRejoinError(error, 'closed')),
  ).toEqual([])
})

const refund = (id: string) => ({ name: 'refund', input: { id } })

async function openAs(device: TestDevice, sub: string): Promise<Rejoin> {
  const token = await new SignJWT({ account: 'test', sub, exp: Math.floor(Date.now() / 1000) + 600 })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(SECRET))
  return device.open({ token })
}

/** Refunds go on until the returned function is called. */
function holdRefunds(): () => void {
  let finish = () => {}
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  refunds.during = () => finished
  return finish
}

test('K9 the other device learns which person decided, by the access token and not by what a device says', async () => {
  const a = await openAs(laptop, 'ann')
  const chatA = await deskChat(a, 'laptop', refunds)
  const record = await chatA.confirmation.propose(refund('1'))
  await synced(a)
  const b = await openAs(phone, 'bob')
  const chatB = await deskChat(b, 'phone', refunds)
  phone.goOffline()
  await expect(chatB.confirmation.approve(record.token, SESSION)).rejects.toMatchObject({ code: 'claim-queued' })
  await chatA.confirmation.approve(record.token, SESSION)
  const shown = { token: record.token, label: 'laptop', sub: 'ann' }
  await eventually(() => expect(a.claims.get()).toMatchObject([{ ...shown, mine: true, state: 'settled' }]))
  phone.goOnline()
  await eventually(() => expect(b.claims.get()).toMatchObject([{ ...shown, mine: false, state: 'lost' }]))
})

test('K9 a claim that another device settled is shown as settled to one that only watches', async () => {
  const a = await openAs(laptop, 'ann')
  const chatA = await deskChat(a, 'laptop', refunds)
  const record = await chatA.confirmation.propose(refund('1'))
  await synced(a)
  const b = await openAs(phone, 'bob')
  await deskChat(b, 'phone', refunds)
  const finish = holdRefunds()
  const approved = chatA.confirmation.approve(record.token, SESSION)
  await eventually(() => expect(b.claims.get()).toMatchObject([{ state: 'running', sub: 'ann', mine: false }]))
  finish()
  await approved
  await eventually(() => expect(b.claims.get()).toMatchObject([{ state: 'settled', sub: 'ann', mine: false }]))
})

test('K8 K9 a claim that was given back is nobody’s on every device, and its next attempt is its own holder’s', async () => {
  const a = await openAs(laptop, 'ann')
  const chatA = await deskChat(a, 'laptop', refunds)
  const record = await chatA.confirmation.propose(refund('1'))
  await synced(a)
  const b = await openAs(phone, 'bob')
  const chatB = await deskChat(b, 'phone', refunds)
  const c = await openAs(tablet, 'cyd')
  await deskChat(c, 'tablet', refunds)
  phone.goOffline()
  await expect(chatB.confirmation.approve(record.token, SESSION)).rejects.toMatchObject({ code: 'claim-queued' })
  holdRefunds()
  chatA.confirmation.approve(record.token, SESSION).catch(() => {})
  await eventually(() => expect(refunds.ran.get('1')).toEqual(['laptop']))
  phone.goOnline()
  await eventually(() => expect(b.claims.get()).toMatchObject([{ state: 'lost', sub: 'ann' }]))
  await eventually(() => expect(c.claims.get()).toMatchObject([{ state: 'running', sub: 'ann' }]))
  await a.close()

  const again = await openAs(laptop, 'ann')
  await deskChat(again, 'laptop', refunds)
  await eventually(() => expect(again.attention.get()).toMatchObject([{ kind: 'claim' }]))
  const [item] = again.attention.get()
  if (item?.kind !== 'claim') throw new Error('No claim is listed.')
  await again.attention.release(item.claimId)
  await eventually(() => expect(statuses(chatB)).toEqual({ 1: 'pending' }))
  for (const each of [again, b, c]) await eventually(() => expect(each.claims.get()).toEqual([]))

  const finish = holdRefunds()
  const approved = chatB.confirmation.approve(record.token, SESSION)
  for (const each of [again, b, c]) {
    await eventually(() => expect(each.claims.get()).toMatchObject([{ state: 'running', attempt: 1, sub: 'bob' }]))
  }
  finish()
  await approved
  for (const each of [again, b, c]) {
    await eventually(() => expect(each.claims.get()).toMatchObject([{ state: 'settled', attempt: 1, sub: 'bob' }]))
  }
  expect(refunds.ran.get('1')).toEqual(['laptop', 'phone'])
})
