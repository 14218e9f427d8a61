import { existsSync, readFileSync } from 'node:fs'
import { copyFile, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { epochStart } from '../../src/protocol/identity.ts'
import { readCommandLine } from '../../sync-server/src/command-line.ts'
import { restoreSqlite } from '../../sync-server/src/restore-sqlite.ts'
import type { ClaimRecord } from '../../sync-server/src/rules/session-state.ts'
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

test('the command takes one backup, and the data file as the server does', () => {
  expect(readCommandLine(['restore', 'b.sqlite', '--data', 'data.sqlite'], {})).toEqual({
    kind: 'restore',
    backup: 'b.sqlite',
    file: 'data.sqlite',
  })
  expect(readCommandLine(['restore'], {})).toMatchObject({ kind: 'wrong' })
  expect(readCommandLine(['restart'], {})).toMatchObject({ kind: 'wrong' })
})
