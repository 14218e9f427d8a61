import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { chmod, copyFile, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { epochStart } from '../../src/protocol/identity.ts'
import { readCommandLine } from '../../sync-server/src/command-line.ts'
import { type FileMoves, fileMoves } from '../../sync-server/src/replace-data-file.ts'
import { restoreSqlite } from '../../sync-server/src/restore-sqlite.ts'
import type { ClaimRecord } from '../../sync-server/src/rules/session-state.ts'
import { openSqliteDriver } from '../../sync-server/src/sqlite-driver.ts'
import type { Store } from '../../sync-server/src/store.ts'
import { openSqliteStore } from '../../sync-server/src/store-sqlite.ts'
import { confirmation, snapshot } from './sessions.ts'

let folder = ''
let file = ''
let backup = ''

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'rejoin-restore-'))
  file = path.join(folder, 'rejoin.sqlite')
  backup = path.join(folder, 'backup.sqlite')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const scope = { account: 'acme', sessionId: 's1', device: 'a' }
const claim = (token: string, status: ClaimRecord['status']): ClaimRecord => ({
  token,
  status,
  attempt: 0,
  doubt: false,
  claimId: `c-${token}`,
  device: 'a',
  incarnation: 'i1',
  toolCallId: `call-${token}`,
  confirmation: confirmation(token, { status, toolCallId: `call-${token}` }),
  evidence: [],
})

/** A session with a token at every stage: finished, claimed, and only proposed. */
async function fill(store: Store): Promise<void> {
  const [done, held] = [claim('done', 'approved'), claim('held', 'approving')]
  const open = confirmation('open', { toolCallId: 'call-open' })
  await store.decide(scope, () => ({
    change: {
      session: { incarnation: 'i1', cursor: 3, writeId: 'w1', initial: null, head: 0, bytes: 0 },
      snapshot: snapshot(3, { confirmations: [done.confirmation, held.confirmation, open] }),
      claims: [done, held],
    },
    result: undefined,
  }))
}

const claimsOf = (store: Store) => store.decide(scope, ({ claims }) => ({ result: [...claims.values()] }))

test('I5 a restore begins a later epoch, and what is not finished in the backup is in doubt', async () => {
  const store = await openSqliteStore({ file, now: () => 5000 })
  await fill(store)
  await store.close()
  await copyFile(file, backup)

  const { epoch, doubts, replaced } = await restoreSqlite({ backup, file, now: () => 1000 })
  expect(epochStart(epoch)).toBe(5001)
  expect(doubts).toBe(2)
  expect(existsSync(replaced ?? '')).toBe(true)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const restored = await openSqliteStore({ file, now: () => 9000 })
  expect(restored.epoch).toBe(epoch)
  expect(
    (await claimsOf(restored)).map(({ token, status, doubt, claimId }) => [token, status, doubt, claimId]),
  ).toEqual([
    ['done', 'approved', false, 'c-done'],
    ['held', 'approving', true, 'c-held'],
    ['open', 'pending', true, undefined],
  ])
  await restored.close()
  const kept = await openSqliteStore({ file: replaced ?? '' })
  expect(epochStart(kept.epoch)).toBe(5000)
  await kept.close()
})

test('a data file that a server has open is not replaced, and one that is damaged is', async () => {
  const store = await openSqliteStore({ file: backup })
  await fill(store)
  await store.close()
  const running = await openSqliteStore({ file })
  await expect(restoreSqlite({ backup, file })).rejects.toMatchObject({ code: 'storage-unavailable' })
  await running.close()
  await writeFile(file, 'no database at all, and longer than a header of one would be')
  await restoreSqlite({ backup, file })
  const restored = await openSqliteStore({ file })
  expect(await claimsOf(restored)).toHaveLength(3)
  await restored.close()
})

test('a backup that is none leaves the data file as it is', async () => {
  const store = await openSqliteStore({ file })
  await store.close()
  const before = readFileSync(file)
  await writeFile(backup, 'no database at all, and longer than a header of one would be')
  await expect(restoreSqlite({ backup, file })).rejects.toMatchObject({ code: 'storage-unavailable' })
  await expect(restoreSqlite({ backup: path.join(folder, 'none'), file })).rejects.toMatchObject({
    code: 'storage-unavailable',
  })
  expect(readFileSync(file)).toEqual(before)
})

/** The files of a store that was killed: what it committed last is in its log alone. */
async function killedStore(to: string, epochAt: number, tokens: readonly string[]): Promise<void> {
  const source = path.join(folder, `source-${epochAt}-${readdirSync(folder).length}.sqlite`)
  const store = await openSqliteStore({ file: source, now: () => epochAt })
  const claims = tokens.map((token) => claim(token, 'approving'))
  await store.decide(scope, () => ({
    change: {
      session: { incarnation: 'i1', cursor: 3, writeId: 'w1', initial: null, head: 0, bytes: 0 },
      snapshot: snapshot(3, { confirmations: claims.map((each) => each.confirmation) }),
      claims,
    },
    result: undefined,
  }))
  for (const part of ['', '-wal']) await copyFile(source + part, to + part)
  await store.close()
  expect((await stat(`${to}-wal`)).size).toBeGreaterThan(0)
}

const bytesIn = (at: string) =>
  Object.fromEntries(readdirSync(at).map((name) => [name, readFileSync(path.join(at, name)).toString('base64')]))

/** What a server would find: looked at in a copy, so that looking changes nothing. */
async function found(): Promise<{ began: number; tokens: string[] }> {
  const look = path.join(folder, 'look.sqlite')
  for (const part of ['', '-wal', '-shm']) {
    await rm(look + part, { force: true })
    if (existsSync(file + part)) await copyFile(file + part, look + part)
  }
  const store = await openSqliteStore({ file: look, now: () => 1 })
  const tokens = (await claimsOf(store)).map(({ token }) => token)
  await store.close()
  return { began: epochStart(store.epoch), tokens }
}

test('I5 G4 a restore that breaks off at any point leaves the old file with its own log, or the new one', async () => {
  await killedStore(backup, 100, ['of-the-backup'])
  let crashAt = 0
  for (let done = false; !done; crashAt++) {
    for (const name of readdirSync(folder)) if (name.startsWith('rejoin.')) await rm(path.join(folder, name))
    await killedStore(file, 500, ['of-the-old-file'])
    let moved = 0
    const stopping = <Move extends (...files: [string, string]) => void>(move: Move) =>
      ((...files) => {
        if (moved++ >= crashAt) throw new Error('the machine stopped')
        move(...files)
      }) as Move
    const moves: FileMoves = {
      link: stopping(fileMoves.link),
      rename: stopping(fileMoves.rename),
      remove: stopping(fileMoves.remove),
      sync: stopping(fileMoves.sync),
    }
    const outcome = await restoreSqlite({ backup, file, now: () => 1000 }, moves).catch((error: Error) => error)
    done = !(outcome instanceof Error)
    if (outcome instanceof Error) expect(outcome.message).toBe('the machine stopped')
    const { began, tokens } = await found()
    expect([500, 1000]).toContain(began)
    if (done) expect(began).toBe(1000)
    expect(tokens).toEqual([began === 500 ? 'of-the-old-file' : 'of-the-backup'])
  }
  expect(crashAt).toBeGreaterThan(5)
  // Broken off and begun again, it still ends.
  await restoreSqlite({ backup, file, now: () => 2000 })
  expect(await found()).toEqual({ began: 2000, tokens: ['of-the-backup'] })
})

test('I5 the backup stays byte for byte as it is, and what is in its log counts', async () => {
  const shelf = path.join(folder, 'shelf')
  await mkdir(shelf)
  await killedStore(path.join(shelf, 'backup.sqlite'), 100, ['in-the-log'])
  await chmod(path.join(shelf, 'backup.sqlite'), 0o444)
  const before = bytesIn(shelf)
  await restoreSqlite({ backup: path.join(shelf, 'backup.sqlite'), file })
  expect(bytesIn(shelf)).toEqual(before)
  // A backup that nobody may write, and everybody may read, makes no data file of that kind.
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await found()).tokens).toEqual(['in-the-log'])
})

test('a log beside a damaged file, or beside none, or that a broken restore left, is not taken for the new file’s', async () => {
  const store = await openSqliteStore({ file: backup, now: () => 100 })
  await fill(store)
  await store.close()
  for (const at of [1000, 2000]) {
    await killedStore(file, 500, ['of-another-file'])
    await copyFile(`${file}-wal`, `${file}.restoring-wal`)
    if (at === 1000) await writeFile(file, 'no database at all, and longer than a header of one would be')
    else await rm(file)
    await restoreSqlite({ backup, file, now: () => at })
    expect((await found()).tokens).toEqual(['done', 'held', 'open'])
  }
  expect(readdirSync(folder).filter((name) => name.includes('restoring'))).toEqual([])
})

test('a file that is kept already is not written over', async () => {
  const store = await openSqliteStore({ file: backup })
  await store.close()
  await copyFile(backup, file)
  await writeFile(`${file}.replaced-7`, 'kept')
  await expect(restoreSqlite({ backup, file, now: () => 7 })).rejects.toMatchObject({ code: 'EEXIST' })
  expect(readFileSync(`${file}.replaced-7`, 'utf8')).toBe('kept')
  expect(existsSync(`${file}.restoring`)).toBe(false)
})

test('I5 only what is open in a session that lives is in doubt', async () => {
  const store = await openSqliteStore({ file: backup })
  await fill(store)
  await store.decide(scope, () => ({ change: { end: { incarnation: 'i1', sub: 'ann', at: 5 } }, result: undefined }))
  const open = confirmation('proposed', { toolCallId: 'call-proposed' })
  await store.decide(scope, () => ({
    change: {
      session: { incarnation: 'i2', cursor: 1, writeId: 'w1', initial: null, head: 0, bytes: 0 },
      snapshot: snapshot(1, { confirmations: [open, confirmation('over', { status: 'rejected' })] }),
    },
    result: undefined,
  }))
  await store.close()
  expect((await restoreSqlite({ backup, file })).doubts).toBe(1)
  const restored = await openSqliteStore({ file })
  expect((await claimsOf(restored)).map(({ token, doubt }) => [token, doubt])).toEqual([
    ['done', false],
    ['held', false],
    ['proposed', true],
  ])
  await restored.close()
})

test('an empty backup is none, and one of a newer version says so', async () => {
  await writeFile(backup, '')
  await expect(restoreSqlite({ backup, file })).rejects.toMatchObject({ code: 'storage-unavailable' })
  const newer = path.join(folder, 'newer.sqlite')
  await (await openSqliteStore({ file: newer })).close()
  const driver = await openSqliteDriver(newer)
  driver.exec('PRAGMA user_version = 99')
  driver.close()
  await expect(restoreSqlite({ backup: newer, file })).rejects.toMatchObject({
    message: expect.stringContaining('newer than this server'),
  })
  expect(readdirSync(folder).filter((name) => name.startsWith('rejoin.'))).toEqual([])
})

test('the command takes one backup, and the data file as the server does', () => {
  expect(readCommandLine(['restore', 'b.sqlite', '--data', 'data.sqlite'], {})).toEqual({
    kind: 'restore',
    backup: 'b.sqlite',
    file: 'data.sqlite',
  })
  expect(readCommandLine(['restore'], {})).toMatchObject({ kind: 'wrong' })
  expect(readCommandLine(['restart'], {})).toMatchObject({ kind: 'wrong' })
})
