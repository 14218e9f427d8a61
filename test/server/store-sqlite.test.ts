import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSqliteDriver, type SqliteDriver } from '../../sync-server/src/sqlite-driver.ts'
import { openSqliteStore } from '../../sync-server/src/store-sqlite.ts'
import { storeSuite } from './store-suite.ts'

const DRIVERS: readonly SqliteDriver['name'][] = ['node:sqlite', 'better-sqlite3']

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'rejoin-store-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let files = 0
const newFile = () => path.join(folder, `${files++}`, 'rejoin.sqlite')

for (const driver of DRIVERS) {
  const there = await openSqliteDriver(':memory:', driver).then(
    (opened) => {
      opened.close()
      return true
    },
    () => false,
  )
  if (!there) {
    test(`the store on ${driver}`, ({ skip }) => skip(`this Node.js (${process.version}) does not have ${driver}`))
    continue
  }
  const paths = new Map<object, string>()
  storeSuite({
    test: ((name: string, run: () => Promise<void>) => test(`${name} (${driver})`, run)) as typeof test,
    create: async () => {
      const file = newFile()
      const store = await openSqliteStore({ file, driver })
      paths.set(store, file)
      return store
    },
    reopen: (store) => openSqliteStore({ file: paths.get(store) ?? '', driver }),
  })
}

test('only its owner may read the database, also its write-ahead log', async () => {
  const file = newFile()
  const store = await openSqliteStore({ file })
  await store.decide({ account: 'a', sessionId: 's', device: 'd' }, () => ({
    change: { session: { incarnation: 'i', cursor: 0, writeId: '', initial: null, head: 0, bytes: 0 } },
    result: 0,
  }))
  for (const name of readdirSync(path.dirname(file))) {
    expect((await stat(path.join(path.dirname(file), name))).mode & 0o777).toBe(0o600)
  }
  await store.close()
})

test('decisions that wait together are made durable together', async () => {
  const batches: number[] = []
  const store = await openSqliteStore({ file: newFile(), onCommit: (decisions) => batches.push(decisions) })
  await Promise.all(
    Array.from({ length: 64 }, (_, at) =>
      store.decide({ account: 'a', sessionId: `s${at}`, device: 'd' }, () => ({
        change: { session: { incarnation: 'i', cursor: 0, writeId: '', initial: null, head: 0, bytes: 0 } },
        result: 0,
      })),
    ),
  )
  expect(batches).toEqual([64])
  await store.close()
})

test('an epoch is made with the store, and begins when it was made', async () => {
  const store = await openSqliteStore({ file: newFile(), now: () => 4711 })
  expect(store.epoch).toMatch(/^4711-[\w-]{8,}$/)
  const other = await openSqliteStore({ file: newFile(), now: () => 4711 })
  expect(other.epoch).not.toBe(store.epoch)
  await store.close()
  await other.close()
})

test('a file of a newer version is refused and left as it is', async () => {
  const file = newFile()
  const store = await openSqliteStore({ file })
  await store.close()
  const driver = await openSqliteDriver(file)
  driver.exec('PRAGMA user_version = 99')
  driver.close()
  await expect(openSqliteStore({ file })).rejects.toMatchObject({ code: 'storage-unavailable' })
})

test('a file that cannot be made, or is no database, is storage-unavailable', async () => {
  await expect(openSqliteStore({ file: '/dev/null/x.sqlite' })).rejects.toMatchObject({ code: 'storage-unavailable' })
  const file = path.join(folder, 'notes.txt')
  await writeFile(file, 'not a database '.repeat(100))
  await expect(openSqliteStore({ file })).rejects.toMatchObject({ code: 'storage-unavailable' })
})

test('G10 every statement over rows of accounts names the account', () => {
  const source = readFileSync('sync-server/src/sqlite-rows.ts', 'utf8')
  const statements = [...source.matchAll(/prepare\(\s*([`'])([\s\S]*?)\1/g)].map(([, , sql]) => sql ?? '')
  expect(statements.length).toBeGreaterThan(20)
  for (const sql of statements) {
    if (/^\s*INSERT/.test(sql)) expect(sql).toMatch(/\(\s*account,/)
    else expect(sql.replace(/\$\{one\}/, 'account = ? AND session_id = ?')).toMatch(/WHERE account = \?/)
  }
})

test('G9 a second process on the same file is refused, with what to do', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'rejoin-store-'))
  const file = path.join(folder, 'data.sqlite')
  const store = await openSqliteStore({ file, now: () => 1 })
  await expect(openSqliteStore({ file, now: () => 1 })).rejects.toMatchObject({
    code: 'storage-unavailable',
    hint: expect.stringContaining('Stop the other'),
  })
  await store.close()
  await (await openSqliteStore({ file, now: () => 1 })).close()
  await rm(folder, { recursive: true })
})
