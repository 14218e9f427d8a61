import { afterEach, expect, test } from 'vitest'
import { cdp } from 'vitest/browser'
import { browserEnvironment } from '../../../src/browser-environment.ts'
import type { Database } from '../../../src/storage/database.ts'
import { type Names, namesOf } from '../../../src/storage/names.ts'
import { openIndexedDatabase } from '../../../src/storage/open-indexed-database.ts'
import { request } from '../../unit/storage/indexed-device.ts'
import { sampleRow } from '../../unit/storage/sample-rows.ts'

// What only a real browser does: a disk that is full, and a database that is taken away.

interface DevTools {
  send(method: string, params: object): Promise<unknown>
}

const devTools = () => cdp() as unknown as DevTools
const { origin } = location
let tab: Database
let names: Names

const open = async (onProblem: (code: string | undefined) => void) => {
  names = namesOf('acme', `real-${Math.random()}`)
  tab = await openIndexedDatabase({
    environment: browserEnvironment(),
    names,
    identity: { account: 'acme', realm: 'default', label: 'Laptop' },
    onProblem: (problem) => onProblem(problem?.code),
  })
}

const append = (size: number) =>
  tab.transactUpdates('s1', 'relaxed', ({ lastSeq }) => ({
    change: { row: sampleRow('s1', lastSeq + 1) },
    append: { incarnation: 'i1', origin: 'local', bytes: [crypto.getRandomValues(new Uint8Array(size))] },
    result: undefined,
  }))

afterEach(async () => {
  await devTools().send('Storage.overrideQuotaForOrigin', { origin })
  await tab.close()
  await request(indexedDB.deleteDatabase(names.database))
})

test('F27 a write beyond the quota rejects with storage-full and leaves nothing, and later writes go on', async () => {
  // Chromium remembers for a while how much room it found, and forgets it with the data.
  await devTools().send('Storage.clearDataForOrigin', { origin, storageTypes: 'indexeddb' })
  await devTools().send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 200_000 })
  const problems: unknown[] = []
  await open((code) => problems.push(code))
  let refused: unknown
  for (let tries = 0; tries < 50 && !refused; tries++) refused = await append(60_000).catch((error: unknown) => error)
  expect(refused).toMatchObject({ name: 'RejoinError', code: 'storage-full', cause: { name: 'QuotaExceededError' } })
  const rows = await tab.updates('s1')
  expect((await tab.read('s1')).row?.local?.cursor).toBe(rows.length)
  expect(problems).toEqual(['storage-full'])
  await devTools().send('Storage.overrideQuotaForOrigin', { origin })
  await append(60_000)
  expect(await tab.lastSeq('s1')).toBe(rows.length + 1)
  expect(problems).toEqual(['storage-full', undefined])
})

test('F21 F33 when the site’s data is cleared under it, the tab opens a database again', async () => {
  await open(() => {})
  await append(10)
  const { device } = await tab.meta()
  await devTools().send('Storage.clearDataForOrigin', { origin, storageTypes: 'indexeddb' })
  await append(10)
  expect(await tab.updates('s1')).toHaveLength(1)
  expect((await tab.meta()).device).not.toBe(device)
})
