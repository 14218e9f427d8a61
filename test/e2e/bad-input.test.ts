import { expect, test } from 'vitest'
import { accessToken, JWT_SECRET } from './support/access-token.ts'
import { openDevice } from './support/device.ts'
import { createEffectCounter } from './support/effect-counter.ts'
import { eventually } from './support/eventually.ts'
import { hostPage } from './support/page-host.ts'
import { eavesdrop, openRawSocket, type RawSocketOptions } from './support/raw-socket.ts'
import { requestsTo } from './support/server-requests.ts'
import { openStageWithoutServer, startRejoinServer } from './support/stage.ts'
import { synced } from './support/synced.ts'
import { questions } from './support/transcript.ts'

const MEBIBYTE = 1024 * 1024
const OURS = accessToken('ours')
const THEIRS = accessToken('theirs')

/** A device of ours with a session, and somebody who asks the same server for what it should refuse. */
async function openAttackedStage() {
  const page = await hostPage()
  const server = await startRejoinServer({ origin: new URL(page).origin, jwtSecret: JWT_SECRET })
  const laptop = await openDevice({ label: 'Laptop', counter: createEffectCounter(), page, server })
  const tab = await laptop.openTab({ account: 'ours', token: OURS })
  await tab.send('/order')
  await synced(tab)
  const ours = requestsTo(server.url, { token: OURS })
  const standing = async () => {
    const { etag, snapshot, head, incarnation } = (await ours.get('/v1/sessions/shared')).body
    return { etag, snapshot, head, incarnation }
  }
  /** Nothing of the attack was stored, and the device goes on. */
  const nothingHappened = async (before: Awaited<ReturnType<typeof standing>>) => {
    expect(await standing()).toEqual(before)
    expect((await ours.get('/v1/sessions?since=0')).body.items).toHaveLength(1)
    await tab.send('still here')
    await synced(tab)
    expect(await tab.view()).toMatchObject({ attention: [], errors: [] })
    expect((await standing()).head).toBeGreaterThan(before.head)
  }
  return { server, laptop, tab, ours, standing, nothingHappened }
}

test('Bad input · G10 F58 over HTTP every bad request gets its code, nothing of it is stored, and the others go on', async () => {
  const { server, ours, standing, nothingHappened } = await openAttackedStage()
  const before = await standing()
  const { etag, incarnation, snapshot } = before
  const next = { ...snapshot, cursor: snapshot.cursor + 1 }
  const put = (body: unknown, path = '/v1/sessions/shared') => ours.send('PUT', path, body, { 'if-match': etag })
  const write = (changed: object) => put({ incarnation, writeId: 'attack', snapshot: { ...next, ...changed } })
  const nested = `${'['.repeat(65)}${']'.repeat(65)}`

  const refused = async (asked: ReturnType<typeof put>) => {
    const { status, body } = await asked
    return `${status} ${body.code}`
  }
  // Malformed.
  expect(await refused(put('{"incarnation":'))).toBe('400 bad-request')
  expect(await refused(put({}))).toBe('400 bad-request')
  expect(await refused(put('{"__proto__":{"admin":true}}'))).toBe('400 bad-request')
  expect(await refused(put({ incarnation, writeId: 'a b', snapshot: next }))).toBe('400 bad-request')
  expect(await refused(write({ cursor: -1 }))).toBe('422 snapshot-invalid')
  expect(await refused(write({ confirmations: 'none' }))).toBe('422 snapshot-invalid')
  expect(await refused(write({ conversation: { ...next.conversation, state: 'placed' } }))).toBe('422 snapshot-invalid')
  expect(await refused(ours.send('PUT', '/v1/sessions/shared', { incarnation, writeId: 'a', snapshot: next }))).toBe(
    '400 bad-request',
  )
  expect(await refused(ours.send('POST', '/v1/sessions/shared/updates', { incarnation, updates: ['!'] }))).toBe(
    '400 bad-request',
  )
  expect(await refused(ours.send('POST', '/v1/sessions/shared/updates', { incarnation, updates: ['/////w=='] }))).toBe(
    '422 update-invalid',
  )
  expect(await refused(ours.send('PUT', '/v1/sessions/shared/claims/some-token', { op: 'steal' }))).toBe(
    '400 bad-request',
  )
  expect(await refused(ours.get('/v1/sessions/not%20an%20id'))).toBe('400 bad-request')
  // Oversized.
  expect(await refused(put(`"${'x'.repeat(MEBIBYTE - 1)}"`))).toBe('413 too-large')
  expect(await refused(put(`"${'x'.repeat(MEBIBYTE - 2)}"`))).toBe('400 bad-request')
  // Too deep.
  expect(await refused(put(nested))).toBe('400 too-deep')
  expect(await refused(put(nested.slice(1, -1)))).toBe('400 bad-request')
  // Wrong version.
  expect(await refused(write({ version: 2 }))).toBe('422 unsupported-version')
  // Another session, another definition, an earlier revision of ours.
  expect(await refused(write({ sessionId: 'another' }))).toBe('422 snapshot-invalid')
  expect(await refused(write({ definitionId: 'another-desk' }))).toBe('409 definition-mismatch')
  // Another account, or nobody.
  const theirs = requestsTo(server.url, { token: THEIRS })
  expect(await refused(theirs.get('/v1/sessions/shared'))).toBe('404 not-found')
  expect((await theirs.get('/v1/sessions?since=0')).body.items).toEqual([])
  expect(await refused(requestsTo(server.url).get('/v1/sessions/shared'))).toBe('401 unauthorized')
  expect(await refused(requestsTo(server.url, { token: `${OURS}x` }).get('/v1/sessions/shared'))).toBe(
    '401 unauthorized',
  )

  await nothingHappened(before)
})

test('Bad input · G10 F62 over a socket every bad frame ends that socket with its code, and the others go on', async () => {
  const { server, laptop, standing, nothingHappened, tab } = await openAttackedStage()
  const before = await standing()
  const page = await laptop.context.newPage()
  await page.goto(tab.page.url())
  const room = `${server.url.replace('http', 'ws')}/v1/rooms/shared`
  const closedBy = (frame: NonNullable<RawSocketOptions['frame']>) => openRawSocket(page, { room, token: OURS, frame })

  expect(await closedBy('some text')).toBe(4400)
  expect(await closedBy([])).toBe(4400)
  expect(await closedBy([77, 1, 2, 3])).toBe(4400)
  expect(await closedBy([100, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1])).toBe(4400)
  // An update of one byte, where a struct needs two.
  expect(await closedBy([0, 2, 1, 1])).toBe(4422)
  expect(await closedBy({ zeros: MEBIBYTE + 1 })).toBe(1009)
  // Refused before there is a socket: a browser is not told why.
  expect(await openRawSocket(page, { room, token: 'nobody' })).toBe(1006)

  const ours = await eavesdrop(page, { room, token: OURS })
  const theirs = await eavesdrop(page, { room, token: THEIRS })
  await nothingHappened(before)
  await eventually(ours).toContain('still here')
  expect(await theirs()).not.toContain('still here')
})

test('Bad input · G6 on the device a snapshot that nobody could resume is refused with a code, and what was stored stays', async () => {
  const { openDevice } = await openStageWithoutServer()
  const laptop = await openDevice('Laptop')
  const tab = await laptop.openTab()
  await tab.send('/order')
  await eventually(() => tab.load('shared')).toMatchObject({ conversation: { state: 'ordering' } })
  const stored = await tab.load('shared')
  if (!stored) throw new Error('Nothing was stored.')
  const save = (changed: object) => tab.save({ ...stored, cursor: stored.cursor + 1, ...changed }, stored.cursor)

  expect(await save({ cursor: stored.cursor })).toBe('snapshot-invalid')
  expect(await save({ confirmations: 'none' })).toBe('snapshot-invalid')
  expect(await save({ version: 2 })).toBe('snapshot-invalid')
  expect(await save({ sessionId: 'not an id' })).toBe('snapshot-invalid')
  expect(await save({ conversation: { ...stored.conversation, state: 'placed' } })).toBe('snapshot-invalid')
  expect(await save({ definitionId: 'another-desk' })).toBe('definition-mismatch')
  expect(await tab.load('shared')).toEqual(stored)
  expect(await tab.chat('shared', { id: 'another-desk' })).toBe('AK_CONFIG_INVALID')
  expect(await tab.chat('shared', { revision: 2 })).toBe('AK_CONFIG_INVALID')
  expect(await tab.chat('not an id')).toBe('refused')

  expect(await tab.chat('shared')).toBe('open')
  await tab.send('/confirm')
  expect(questions(await tab.view())).toEqual(['/order', '/confirm'])
  expect((await tab.view()).state).toBe('placed')
})
