import { expect, test } from 'vitest'
import { eventually } from './support/eventually.ts'
import type { ServerProcess } from './support/server-process.ts'
import { requestsTo } from './support/server-requests.ts'
import { snapshotOf } from './support/snapshot-of.ts'
import { openStage, startRejoinServer } from './support/stage.ts'
import { stored, synced } from './support/synced.ts'
import { questions } from './support/transcript.ts'

const SAVES = 200
/** A hundred sessions are still to be sent then, each with a few requests and commits. */
const REST_WITHIN_MS = 40_000

test(`E2E 8 · G4 G9 what a device shows as synced survives kill -9 of the server, during ${SAVES} saves and two kills`, async () => {
  const { openDevice, server } = await openStage()
  const laptop = await openDevice('Laptop')
  const tab = await laptop.openTab({ session: false })
  const acknowledged = async () => {
    const { sessions } = await tab.view()
    return sessions.filter(({ unsent }) => !unsent).map(({ sessionId }) => sessionId)
  }
  const saving = (async () => {
    for (let n = 1; n <= SAVES; n++) expect(await tab.save(snapshotOf(`session-${n}`, 1), undefined)).toBe(true)
  })()

  for (const enough of [SAVES / 4, SAVES / 2]) {
    await eventually(async () => (await acknowledged()).length).toBeGreaterThan(enough)
    await server.kill()
    const promised = await acknowledged()
    await server.start()
    for (const sessionId of promised) {
      const { body } = await requestsTo(server.url).get(`/v1/sessions/${sessionId}`)
      expect(body.snapshot).toEqual(snapshotOf(sessionId, 1))
    }
    await tab.retryNow()
  }

  await saving
  await eventually(() => tab.view(), REST_WITHIN_MS).toMatchObject({ status: { state: 'synced' }, attention: [] })
  expect(await acknowledged()).toHaveLength(SAVES)
  const { body } = await requestsTo(server.url).get('/v1/sessions?since=0')
  expect(body.items).toHaveLength(SAVES)
})

test('E2E 8 · G4 R4 a save that the server acknowledged is there after kill -9, and one that was under way is stored whole or not at all', async () => {
  const server = await startRejoinServer()
  const writers = Array.from({ length: 8 }, (_, index) => createWriter(server, `session-${index}`))
  let acknowledged = 0
  for (let kills = 0; acknowledged < SAVES; kills++) {
    await Promise.all(
      writers.map(async (writer) => {
        while (await writer.save()) if (++acknowledged === 60 * (kills + 1)) await server.kill()
      }),
    )
    await server.start()
    for (const writer of writers) await writer.check()
  }
})

/** Saves one session again and again, as a device that has one write under way. */
function createWriter(server: ServerProcess, sessionId: string) {
  const requests = requestsTo(server.url, { device: `device-of-${sessionId}` })
  const path = `/v1/sessions/${sessionId}`
  /** Where the server stood after each acknowledged save. */
  const etags: string[] = []

  async function put(cursor: number) {
    const etag = etags[cursor - 2]
    const condition: Record<string, string> = etag === undefined ? { 'if-none-match': '*' } : { 'if-match': etag }
    const snapshot = snapshotOf(sessionId, cursor)
    const body = { incarnation: `life-of-${sessionId}`, writeId: `write-${cursor}`, snapshot }
    const answer = await requests.send('PUT', path, body, condition)
    expect(answer.status).toBeLessThan(300)
    expect(answer.body.snapshot).toEqual(snapshot)
    return answer.body.etag
  }

  return {
    /** False: the server is gone. */
    save: async () => {
      const etag = await put(etags.length + 1).catch((error: unknown) => {
        if (error instanceof TypeError) return undefined
        throw error
      })
      if (etag !== undefined) etags.push(etag)
      return etag !== undefined
    },
    check: async () => {
      const { body } = await requests.get(path)
      const stored: number = body.snapshot?.cursor ?? 0
      expect([etags.length, etags.length + 1]).toContain(stored)
      if (stored > 0) expect(body.snapshot).toEqual(snapshotOf(sessionId, stored))
      // Whatever was stored last is no conflict when it is sent again, whether or not its answer had come.
      if (stored > 0) expect(await put(stored)).toBe(body.etag)
      if (stored > etags.length) etags.push(body.etag)
    },
  }
}

test('E2E 8 · G5 R3 R4 a write whose answer was lost, followed by another turn, ends with both turns kept and no conflict with itself', async () => {
  const { openDevice, server } = await openStage()
  const laptop = await openDevice('Laptop')
  const tab = await laptop.openTab()
  await tab.send('/help')
  await synced(tab)

  const lost = laptop.cable.loseAnswer(/^PUT \/v1\/sessions\/shared HTTP/)
  await tab.send('/order')
  await lost
  await tab.send('/confirm')
  await stored(tab)
  laptop.cable.heal()
  await tab.retryNow()

  await eventually(() => tab.view()).toMatchObject({
    status: { state: 'synced', refused: 0 },
    attention: [],
    state: 'placed',
  })
  const { body } = await requestsTo(server.url).get('/v1/sessions/shared')
  expect(body.snapshot.conversation).toMatchObject({
    state: 'placed',
    decisions: [{ input: '/help' }, { input: '/order' }, { input: '/confirm' }],
  })
  const phone = await openDevice('Phone')
  expect(questions(await (await phone.openTab()).view())).toEqual(['/help', '/order', '/confirm'])
})
