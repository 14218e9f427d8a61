import { expect, type TestAPI } from 'vitest'
import type { ClaimRecord, SessionChange, SessionRecord } from '../../sync-server/src/rules/session-state.ts'
import type { Store } from '../../sync-server/src/store.ts'
import { confirmation, snapshot } from './sessions.ts'

export interface StoreSuite {
  readonly test: TestAPI
  /** A new, empty store; the suite closes it. */
  readonly create: () => Promise<Store>
  /** The same store after its process died; absent for one that keeps nothing. */
  readonly reopen?: ((store: Store) => Promise<Store>) | undefined
}

const session: SessionRecord = { incarnation: 'i1', cursor: 1, writeId: 'w1', initial: null, head: 0, bytes: 0 }
const scope = { account: 'acme', sessionId: 's1', device: 'a' }
const claim: ClaimRecord = {
  token: 't1',
  status: 'approving',
  attempt: 1,
  claimId: 'c1',
  device: 'a',
  label: 'Laptop',
  sub: 'ann',
  at: 5,
  doubt: true,
  incarnation: 'i1',
  toolCallId: 'call-t1',
  confirmation: confirmation('t1', { input: { iban: 'DE00' } }),
  settledAt: 9,
  evidence: [{ attempt: 0, claimId: 'c0', device: 'b', sub: 'bob', at: 4, how: 'released', note: 'no' }],
}

/** What every store of the server has to keep, as its port says. */
export function storeSuite({ test, create, reopen }: StoreSuite): void {
  const withStore = (name: string, run: (store: Store) => Promise<void>) =>
    test(name, async () => {
      const store = await create()
      try {
        await run(store)
      } finally {
        await store.close()
      }
    })
  const write = (store: Store, change: SessionChange, of: Partial<typeof scope> = {}) =>
    store.decide({ ...scope, ...of }, () => ({ change, result: undefined }))
  const read = (store: Store, of: { account?: string; sessionId?: string; device?: string; turnId?: string } = {}) =>
    store.decide({ ...scope, ...of }, (state) => ({ result: { ...state } }))

  withStore('an unknown session is empty', async (store) => {
    expect(await read(store)).toEqual({
      session: null,
      snapshot: null,
      claims: new Map(),
      lastWriteId: null,
      lease: null,
      turn: null,
      ended: new Set(),
      log: [],
    })
    expect(await store.updates(scope, 0, 1000)).toBeUndefined()
    expect(await store.feed('acme', 0, 10)).toEqual({ head: 0, floor: 0, entries: [], more: false })
  })

  withStore('what a decision wrote is what the next one reads', async (store) => {
    const turn = { turnId: 'turn1', device: 'a', expiresAt: 10, outcome: undefined }
    const change: SessionChange = {
      session: { ...session, initial: 'start', head: 2, bytes: 3 },
      snapshot: snapshot(1, { confirmations: [confirmation('t1')] }),
      claims: [claim],
      turn,
      write: { writeId: 'w1', at: 1 },
      updates: [
        { seq: 1, device: 'a', at: 1, bytes: Uint8Array.of(1) },
        { seq: 2, device: 'a', at: 1, bytes: Uint8Array.of(2, 3) },
      ],
    }
    await write(store, change)
    const state = await read(store, { turnId: 'turn1' })
    expect(state).toMatchObject({
      session: change.session,
      snapshot: change.snapshot,
      lastWriteId: 'w1',
      lease: turn,
      turn,
    })
    expect(state.claims.get('t1')).toEqual(claim)
  })

  withStore('the result of a decision is the answer, and a decision without a change writes nothing', async (store) => {
    expect(await store.decide(scope, () => ({ result: 42 }))).toBe(42)
    expect((await store.feed('acme', 0, 10)).head).toBe(0)
  })

  withStore('R4 the last write is of one device and of the live incarnation', async (store) => {
    await write(store, { session, write: { writeId: 'w1', at: 1 } })
    expect((await read(store, { device: 'b' })).lastWriteId).toBeNull()
    await write(store, { end: { incarnation: 'i1', sub: 'ann', at: 2 } })
    await write(store, { session: { ...session, incarnation: 'i2' } }, { device: 'b' })
    expect((await read(store)).lastWriteId).toBeNull()
  })

  withStore('T1 the lease is the turn that was not released and expires last', async (store) => {
    await write(store, { session })
    await write(store, { turn: { turnId: 'early', device: 'a', expiresAt: 10 } })
    await write(store, { turn: { turnId: 'late', device: 'b', expiresAt: 20 } })
    await write(store, { turn: { turnId: 'done', device: 'b', expiresAt: 30, outcome: 'completed' } })
    expect(await read(store, { turnId: 'early' })).toMatchObject({
      lease: { turnId: 'late' },
      turn: { turnId: 'early', expiresAt: 10 },
    })
  })

  withStore('G10 accounts do not see each other, nor does one session see another', async (store) => {
    const change: SessionChange = {
      session: { ...session, head: 1 },
      snapshot: snapshot(1),
      claims: [claim],
      turn: { turnId: 'turn1', device: 'a', expiresAt: 10 },
      write: { writeId: 'w1', at: 1 },
      updates: [{ seq: 1, device: 'a', at: 1, bytes: Uint8Array.of(1) }],
    }
    await write(store, change)
    for (const other of [{ account: 'evil' }, { sessionId: 's2' }, { account: 'acm' }]) {
      const state = await read(store, { ...other, turnId: 'turn1' })
      expect(state).toMatchObject({ session: null, snapshot: null, lastWriteId: null, lease: null, turn: null })
      expect(state.claims.size + state.ended.size).toBe(0)
      expect(await store.updates({ ...scope, ...other }, 0, 100)).toBeUndefined()
    }
    expect((await store.feed('evil', 0, 10)).entries).toEqual([])
    await write(store, { end: { incarnation: 'i1', sub: 'eve', at: 2 } }, { account: 'evil' })
    expect((await read(store)).session).not.toBeNull()
  })

  withStore('the log is read in order and in pages, at least one update at a time', async (store) => {
    const updates = [3, 3, 9].map((size, at) => ({ seq: at + 1, device: 'a', at: 1, bytes: new Uint8Array(size) }))
    await write(store, { session: { ...session, head: 3, bytes: 15 }, updates })
    const seqs = async (after: number, maxBytes: number) => {
      const page = await store.updates(scope, after, maxBytes)
      return { seqs: page?.entries.map(({ seq }) => seq), more: page?.more, head: page?.head }
    }
    expect(await seqs(0, 6)).toEqual({ seqs: [1, 2], more: true, head: 3 })
    expect(await seqs(2, 6)).toEqual({ seqs: [3], more: false, head: 3 })
    expect(await seqs(0, 1)).toEqual({ seqs: [1], more: true, head: 3 })
    expect(await seqs(3, 1)).toEqual({ seqs: [], more: false, head: 3 })
    const state = await store.decide({ ...scope, logAfter: 1 }, ({ log }) => ({ result: [...log] }))
    expect(state.map(({ seq, bytes }) => [seq, bytes.length])).toEqual([
      [2, 3],
      [3, 9],
    ])
  })

  withStore(
    'I1 an ended incarnation leaves a tombstone and the fact of its claims, and nothing else',
    async (store) => {
      await write(store, {
        session: { ...session, head: 1 },
        snapshot: snapshot(1),
        claims: [claim],
        turn: { turnId: 'turn1', device: 'a', expiresAt: 10 },
        write: { writeId: 'w1', at: 1 },
        updates: [{ seq: 1, device: 'a', at: 1, bytes: Uint8Array.of(1) }],
      })
      await write(store, { end: { incarnation: 'i1', sub: 'ann', at: 2 } })
      const state = await read(store, { turnId: 'turn1' })
      expect(state).toMatchObject({ session: null, snapshot: null, lastWriteId: null, lease: null, turn: null })
      expect([...state.ended]).toEqual(['i1'])
      expect(state.claims.get('t1')).toEqual({ ...claim, confirmation: { ...claim.confirmation, input: {} } })
      await write(store, { session: { ...session, incarnation: 'i2' } })
      expect((await store.updates(scope, 0, 100))?.entries).toEqual([])
    },
  )

  withStore('the feed lists what moved since, latest place only, with tombstones, in pages', async (store) => {
    const move = (sessionId: string, cursor: number) =>
      write(store, { session: { ...session, cursor, writeId: `w${cursor}` } }, { sessionId })
    await move('s1', 1)
    await move('s2', 1)
    await move('s1', 2)
    await move('s3', 1)
    await write(store, { end: { incarnation: 'i1', sub: 'ann', at: 2 } }, { sessionId: 's2' })
    const page = await store.feed('acme', 0, 10)
    expect(page).toMatchObject({ head: 5, floor: 0, more: false })
    expect(page.entries.map(({ sessionId, seq, cursor, deleted }) => [sessionId, seq, cursor, deleted])).toEqual([
      ['s1', 3, 2, false],
      ['s3', 4, 1, false],
      ['s2', 5, 0, true],
    ])
    const first = await store.feed('acme', 0, 2)
    expect(first).toMatchObject({ more: true, entries: [{ seq: 3 }, { seq: 4 }] })
    expect(await store.feed('acme', 4, 2)).toMatchObject({ more: false, entries: [{ seq: 5 }] })
    await write(store, { claims: [claim] }, { sessionId: 's3' })
    expect((await store.feed('acme', 5, 2)).entries).toMatchObject([{ sessionId: 's3', seq: 6 }])
  })

  withStore('decisions that arrive together are made one after the other, and answered in order', async (store) => {
    const answers: number[] = []
    const count = (at: number) =>
      store
        .decide(scope, (state) => {
          const cursor = (state.session?.cursor ?? 0) + 1
          return { change: { session: { ...session, cursor } }, result: cursor }
        })
        .then((cursor) => {
          answers.push(at)
          return cursor
        })
    const cursors = await Promise.all(Array.from({ length: 500 }, (_, at) => count(at)))
    expect(cursors).toEqual(Array.from({ length: 500 }, (_, at) => at + 1))
    expect(answers).toEqual(Array.from({ length: 500 }, (_, at) => at))
  })

  withStore('a decision that throws is undone alone: what came with it commits', async (store) => {
    const before = write(store, { session })
    const thrown = store.decide(scope, () => {
      throw new Error('not now')
    })
    const broken = write(store, {
      session: { ...session, cursor: 9 },
      updates: [{ seq: 1, device: 'a', at: 1, bytes: undefined as unknown as Uint8Array }],
    })
    const after = store.decide(scope, (state) => ({ result: state.session }))
    await expect(thrown).rejects.toThrow('not now')
    await expect(broken).rejects.toThrow()
    await before
    expect(await after).toEqual(session)
    expect((await read(store)).session).toEqual(session)
  })

  withStore('what is under way when it closes is finished, and afterwards it says that it is closed', async (store) => {
    const pending = write(store, { session })
    await store.close()
    await pending
    await expect(read(store)).rejects.toMatchObject({ code: 'closed' })
    await expect(store.feed('acme', 0, 1)).rejects.toMatchObject({ code: 'closed' })
  })

  if (!reopen) return
  test('G4 what resolved is there when the store is opened again, in the same epoch', async () => {
    const first = await create()
    const { epoch } = first
    await write(first, { session, snapshot: snapshot(1), write: { writeId: 'w1', at: 1 } })
    await first.close()
    const second = await reopen(first)
    expect(second.epoch).toBe(epoch)
    expect(await read(second)).toMatchObject({ session, snapshot: snapshot(1), lastWriteId: 'w1' })
    await second.close()
  })
}
