import { isRejoinError, type Rejoin } from 'rejoin'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  createTestServer,
  deskChat,
  eventually,
  type Refunds,
  SESSION,
  say,
  statuses,
  synced,
  type TestServer,
} from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let server: TestServer
let laptop: TestDevice
let phone: TestDevice
let ran: Refunds['ran']
let during: () => Promise<void>
const refunds: Refunds = {
  get ran() {
    return ran
  },
  during: () => during(),
}

beforeEach(async () => {
  server = await createTestServer()
  laptop = createTestDevice('laptop', server.url)
  phone = createTestDevice('phone', server.url)
  ran = new Map()
  during = async () => {}
})

afterEach(async () => {
  await Promise.all([laptop.close(), phone.close()])
  await server.end()
  expect([...laptop.errors, ...phone.errors].filter((error) => !isRejoinError(error, 'closed'))).toEqual([])
})

const kinds = (rejoin: Rejoin) => rejoin.attention.get().map(({ kind }) => kind)

/** Both devices know a confirmation that is open in the backup. */
async function openBoth() {
  const a = await laptop.open()
  const chatA = await deskChat(a, 'laptop', refunds)
  await say(chatA, 'before')
  const { token } = await chatA.confirmation.propose({ name: 'refund', input: { id: 'first' } })
  await synced(a)
  const b = await phone.open()
  const chatB = await deskChat(b, 'phone', refunds)
  await synced(b)
  await server.backUp()
  laptop.goOnline()
  phone.goOnline()
  await eventually(() => expect(a.status.get().state).toBe('synced'))
  await eventually(() => expect(b.status.get().state).toBe('synced'))
  return { a, b, chatA, chatB, token }
}

test('I5 K8 an open confirmation that nobody claimed is listed as in doubt, and a person clears it: then it runs once', async () => {
  const { a, b, chatA, chatB, token } = await openBoth()
  const restoredAt = Date.now()
  await server.restore()
  laptop.goOnline()
  phone.goOnline()
  for (const rejoin of [a, b]) {
    await eventually(() =>
      expect(rejoin.attention.get()).toMatchObject([{ kind: 'in-doubt', sessionId: SESSION, token }]),
    )
  }
  const [item] = b.attention.get()
  expect(item?.kind === 'in-doubt' && item.since).toBeGreaterThanOrEqual(restoredAt)
  await b.attention.clearDoubt(SESSION, token, { note: 'asked the bank' })
  for (const rejoin of [a, b]) await eventually(() => expect(rejoin.attention.get()).toEqual([]))
  await expect(b.attention.clearDoubt(SESSION, token)).rejects.toMatchObject({ code: 'refused' })
  await chatB.confirmation.approve(token, SESSION)
  await eventually(() => expect(statuses(chatA)).toEqual({ first: 'approved' }))
  expect(Object.fromEntries(ran)).toEqual({ first: ['phone'] })
  await synced(a)
  await synced(b)
  expect([...kinds(a), ...kinds(b)]).toEqual([])
})

test('G1 K8 I5 a run that comes to light after its doubt was cleared and decided anew is listed on both devices', async () => {
  const { a, b, chatA, chatB, token } = await openBoth()
  phone.goOffline()
  await chatA.confirmation.approve(token, SESSION)
  await synced(a)
  laptop.goOffline()
  await server.restore()
  phone.goOnline()
  await eventually(() => expect(kinds(b)).toEqual(['in-doubt']))
  await b.attention.clearDoubt(SESSION, token)
  await chatB.confirmation.approve(token, SESSION)
  await synced(b)
  expect(kinds(b)).toEqual([])
  laptop.goOnline()
  for (const rejoin of [a, b]) {
    await eventually(() =>
      expect(rejoin.attention.get()).toMatchObject([
        { kind: 'ran-beside', sessionId: SESSION, token, status: 'approved', label: 'laptop' },
      ]),
    )
  }
  expect(Object.fromEntries(ran)).toEqual({ first: ['laptop', 'phone'] })
  await b.attention.dismiss(SESSION)
  await eventually(() => expect(b.attention.get()).toEqual([]))
  // Seen there, not here; and not again there when the server says the same again.
  expect(kinds(a)).toEqual(['ran-beside'])
  await say(chatA, 'after')
  await synced(a)
  await synced(b)
  expect(kinds(b)).toEqual([])
})

test('I5 K8 what a device holds itself is no doubt of its person: it is asserted, and not listed', async () => {
  const { a, chatA, token } = await openBoth()
  await chatA.confirmation.approve(token, SESSION)
  await synced(a)
  const seen: unknown[] = []
  a.attention.subscribe(() => seen.push(...a.attention.get()))
  await server.restore()
  laptop.goOnline()
  await synced(a)
  expect(seen).toEqual([])
  expect(statuses(chatA)).toEqual({ first: 'approved' })
})

test('F48 a doubt is cleared with the server or not at all: out of reach, cancelled and unknown each say so', async () => {
  const { a, token } = await openBoth()
  await server.restore()
  laptop.goOnline()
  await eventually(() => expect(kinds(a)).toEqual(['in-doubt']))
  await expect(a.attention.clearDoubt(SESSION, 'other')).rejects.toMatchObject({ code: 'refused' })
  await expect(a.attention.clearDoubt('nowhere', token)).rejects.toMatchObject({ code: 'refused' })
  const gone = new Error('the person left')
  await expect(a.attention.clearDoubt(SESSION, token, { signal: AbortSignal.abort(gone) })).rejects.toBe(gone)
  laptop.loseReplies('/claims/')
  const lifetime = new AbortController()
  const asked = a.attention.clearDoubt(SESSION, token, { signal: lifetime.signal })
  lifetime.abort(gone)
  await expect(asked).rejects.toBe(gone)
  laptop.goOffline()
  await expect(a.attention.clearDoubt(SESSION, token)).rejects.toMatchObject({ code: 'claim-queued' })
  expect(kinds(a)).toEqual(['in-doubt'])
  laptop.loseReplies(undefined)
  laptop.goOnline()
  await eventually(() => expect(a.status.get().state).toBe('synced'))
  // Its answer may have been lost: said again, it is heard again.
  if (kinds(a).length > 0) await a.attention.clearDoubt(SESSION, token)
  await eventually(() => expect(kinds(a)).toEqual([]))
})

test('G2 K8 I5 a run that broke off before its doubt was cleared elsewhere is asked about still, and is told if it ran', async () => {
  for (const didRun of [true, false]) {
    const { a, b, chatA, chatB, token } = await openBoth()
    phone.goOffline()
    const started = new Promise<void>((resolve) => {
      during = () => {
        resolve()
        return new Promise(() => {})
      }
    })
    chatA.confirmation.approve(token, SESSION).catch(() => {})
    await started
    // The tab dies in the middle of the run.
    await a.close()
    during = async () => {}
    await server.restore()
    phone.goOnline()
    await eventually(() => expect(kinds(b)).toEqual(['in-doubt']))
    await b.attention.clearDoubt(SESSION, token)
    await chatB.confirmation.approve(token, SESSION)
    await synced(b)
    const again = await laptop.open()
    await eventually(() => expect(again.attention.get()).toMatchObject([{ kind: 'claim', state: 'taken-over', token }]))
    const [item] = again.attention.get()
    const claimId = item?.kind === 'claim' ? item.claimId : ''
    await (didRun ? again.attention.settle(claimId) : again.attention.release(claimId))
    await synced(again)
    const beside = didRun ? ['ran-beside'] : []
    for (const rejoin of [again, b]) await eventually(() => expect(kinds(rejoin)).toEqual(beside))
    // The token stands at what the other device decided, either way.
    await eventually(() => expect(statuses(chatB)).toEqual({ first: 'approved' }))
    await Promise.all([laptop.close(), phone.close()])
    await server.end()
    server = await createTestServer()
    laptop = createTestDevice('laptop', server.url)
    phone = createTestDevice('phone', server.url)
  }
})
