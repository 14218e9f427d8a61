import { SESSION_PROTOCOL, SESSION_PROTOCOL_VERSION, type Snapshot } from '../contract/session-snapshot.ts'
import type { SessionStorage } from '../contract/session-storage.ts'
import { createChatSession } from '../session/create-chat-session.ts'
import type { ChatDefinition } from '../session/definition.ts'
import { resumeChatSession } from '../session/resume-chat-session.ts'
import { SessionConflictError } from '../session/session-conflict-error.ts'
import { type DeclareTest, type Expect, rejects } from './suite-runner.ts'

export interface SessionStorageUnderTest {
  readonly storage: SessionStorage
  /** A storage of another account over the same store. */
  readonly otherAccount?: SessionStorage
  /** Leaves something in the session's row that is no snapshot. */
  readonly corrupt?: (sessionId: string) => void | Promise<void>
  readonly close?: () => void | Promise<void>
}

/** What an implementation declares to have; a capability that it lacks is skipped under its name. */
export interface SessionStorageSupports {
  readonly delete: boolean
  readonly accounts: boolean
  readonly corrupt: boolean
}

export interface SessionStorageSuiteOptions {
  readonly test: DeclareTest
  readonly expect: Expect
  /** A fresh, empty storage for each test. */
  readonly create: () => SessionStorageUnderTest | Promise<SessionStorageUnderTest>
  readonly supports: SessionStorageSupports
}

/**
 * What every `SessionStorage` has to do: atomic compare-and-set over validated snapshots, isolated from its callers.
 * Runs under any runner whose `test` and `expect` have the usual form.
 */
export function sessionStorageSuite({ test, expect, create, supports }: SessionStorageSuiteOptions): void {
  function rule(name: string, run: (under: SessionStorageUnderTest) => Promise<void>, supported = true): void {
    const declare = supported ? test : test.skip
    declare(name, async () => {
      const under = await create()
      try {
        await run(under)
      } finally {
        await under.close?.()
      }
    })
  }

  async function expectRejection(run: () => unknown): Promise<void> {
    expect(await rejects(run)).toBe(true)
  }

  rule('a session that was never stored loads as undefined', async ({ storage }) => {
    expect(await storage.load(ID)).toBe(undefined)
  })

  rule('the first save creates, and what was saved loads equal', async ({ storage }) => {
    expect(await storage.save(fullSnapshot(1), undefined)).toBe(true)
    expect(plain(await storage.load(ID))).toEqual(plain(fullSnapshot(1)))
  })

  rule('a create may start at cursor 0, and 0 is a cursor like any other', async ({ storage }) => {
    expect(await storage.save(snapshotAt(0), undefined)).toBe(true)
    expect(await storage.save(snapshotAt(1), undefined)).toBe(false)
    expect(await storage.save(snapshotAt(1), 0)).toBe(true)
    expect(cursorOf(await storage.load(ID))).toBe(1)
  })

  rule('a create over a stored session is a conflict and changes nothing', async ({ storage }) => {
    await storage.save(fullSnapshot(3), undefined)
    expect(await storage.save(snapshotAt(1), undefined)).toBe(false)
    expect(await storage.save(snapshotAt(4), undefined)).toBe(false)
    expect(plain(await storage.load(ID))).toEqual(plain(fullSnapshot(3)))
  })

  rule('an update is stored only at exactly the expected cursor', async ({ storage }) => {
    await storage.save(snapshotAt(3), undefined)
    for (const expected of [0, 1, 2, 4, 100]) {
      expect(await storage.save(snapshotAt(101), expected)).toBe(false)
    }
    expect(cursorOf(await storage.load(ID))).toBe(3)
    expect(await storage.save(snapshotAt(4), 3)).toBe(true)
    expect(await storage.save(snapshotAt(4), 3)).toBe(false)
    expect(cursorOf(await storage.load(ID))).toBe(4)
  })

  rule('an update of a session that is not there is a conflict and creates nothing', async ({ storage }) => {
    expect(await storage.save(snapshotAt(8), 7)).toBe(false)
    expect(await storage.load(ID)).toBe(undefined)
  })

  rule('sessions do not touch each other', async ({ storage }) => {
    await storage.save(snapshotAt(1), undefined)
    expect(await storage.save(snapshotAt(1, 'session-2'), undefined)).toBe(true)
    expect(await storage.save(snapshotAt(2, 'session-2'), 1)).toBe(true)
    expect(cursorOf(await storage.load(ID))).toBe(1)
    expect(cursorOf(await storage.load('session-2'))).toBe(2)
  })

  rule('F34 of two concurrent creates exactly one is stored', async ({ storage }) => {
    const answers = await Promise.all([storage.save(snapshotAt(1), undefined), storage.save(snapshotAt(1), undefined)])
    expect(wins(answers)).toBe(1)
  })

  rule('F34 of two concurrent saves at one cursor exactly one is stored, 100 rounds long', async ({ storage }) => {
    await storage.save(snapshotAt(0), undefined)
    for (let cursor = 0; cursor < 100; cursor++) {
      const both = ['2026-10-01T00:00:00.000Z', '2026-10-02T00:00:00.000Z'].map((updatedAt) =>
        storage.save({ ...snapshotAt(cursor + 1), updatedAt }, cursor),
      )
      expect(wins(await Promise.all(both))).toBe(1)
    }
    expect(cursorOf(await storage.load(ID))).toBe(100)
  })

  rule('what a caller does to a snapshot after saving it changes nothing stored', async ({ storage }) => {
    const snapshot = structuredClone(fullSnapshot(1))
    const mine = snapshot as unknown as Mutable
    await storage.save(snapshot, undefined)
    mine.cursor = 99
    mine.confirmations.length = 0
    mine.conversation.state = 'changed'
    expect(plain(await storage.load(ID))).toEqual(plain(fullSnapshot(1)))
  })

  rule('what a caller does to a loaded snapshot changes nothing stored', async ({ storage }) => {
    await storage.save(fullSnapshot(1), undefined)
    const loaded = await storage.load(ID)
    try {
      ;(loaded as Mutable).confirmations.length = 0
      ;(loaded as Mutable).conversation.decisions.length = 0
    } catch {
      // A frozen answer is as good.
    }
    expect(plain(await storage.load(ID))).toEqual(plain(fullSnapshot(1)))
  })

  rule('a cursor that does not pass the expected one is refused and nothing is written', async ({ storage }) => {
    await storage.save(fullSnapshot(5), undefined)
    for (const cursor of [5, 4, 0]) await expectRejection(() => storage.save(snapshotAt(cursor), 5))
    for (const expected of [-1, 1.5, Number.NaN, 2 ** 53]) {
      await expectRejection(() => storage.save(snapshotAt(6), expected))
    }
    expect(plain(await storage.load(ID))).toEqual(plain(fullSnapshot(5)))
  })

  rule('E1 a snapshot that breaks the envelope is refused and nothing is written', async ({ storage }) => {
    for (const bad of invalidSnapshots(1)) await expectRejection(() => storage.save(bad, undefined))
    expect(await storage.load(ID)).toBe(undefined)
    await storage.save(fullSnapshot(1), undefined)
    for (const bad of invalidSnapshots(2)) await expectRejection(() => storage.save(bad, 1))
    expect(plain(await storage.load(ID))).toEqual(plain(fullSnapshot(1)))
    expect(await storage.save(snapshotAt(2), 1)).toBe(true)
  })

  rule('a signal that is aborted already refuses load and save, and nothing is written', async ({ storage }) => {
    const signal = AbortSignal.abort(new Error('enough'))
    await storage.save(fullSnapshot(1), undefined)
    await expectRejection(() => storage.load(ID, signal))
    await expectRejection(() => storage.save(snapshotAt(2), 1, signal))
    expect(plain(await storage.load(ID))).toEqual(plain(fullSnapshot(1)))
  })

  rule('a signal that is aborted after a save was stored does not turn it into an error', async ({ storage }) => {
    const end = new AbortController()
    expect(await storage.save(snapshotAt(1), undefined, end.signal)).toBe(true)
    end.abort()
    expect(cursorOf(await storage.load(ID))).toBe(1)
  })

  rule('E1 the largest number of confirmations is stored and loaded whole', async ({ storage }) => {
    const confirmations = Array.from({ length: 1000 }, (_, index) => ({
      ...pending(index),
      input: { index, text: 'x'.repeat(100) },
    }))
    expect(await storage.save({ ...snapshotAt(1), confirmations }, undefined)).toBe(true)
    expect(plain(await storage.load(ID))).toEqual(plain({ ...snapshotAt(1), confirmations }))
  })

  rule('keys that are special to JavaScript are data like any other', async ({ storage }) => {
    const input = JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":"x"}') as never
    await storage.save({ ...snapshotAt(1), confirmations: [{ ...pending(0), input }] }, undefined)
    const loaded = JSON.parse(plainText(await storage.load(ID))) as Snapshot
    expect(JSON.stringify(loaded.confirmations[0]?.input)).toBe(JSON.stringify(input))
    expect(({} as { polluted?: boolean }).polluted).toBe(undefined)
  })

  rule('C9 of two sessions that race for the turn one gets it and the other meets a conflict', async ({ storage }) => {
    await createChatSession(DEFINITION, { sessionId: ID, storage }).persist()
    const [one, two] = await Promise.all([resume(storage), resume(storage)])
    const results = await Promise.allSettled([one.claimTurn('turn-1', 60_000), two.claimTurn('turn-2', 60_000)])
    expect(results.filter((each) => each.status === 'fulfilled' && each.value === true).length).toBe(1)
    const lost = results.find((each) => each.status === 'rejected')
    expect(lost?.status === 'rejected' && lost.reason instanceof SessionConflictError).toBe(true)
    for (const session of [one, two]) session.close()
  })

  rule(
    'a deleted session loads as undefined and may be created again',
    async ({ storage }) => {
      await storage.save(snapshotAt(5), undefined)
      await storage.delete?.(ID)
      expect(await storage.load(ID)).toBe(undefined)
      expect(await storage.save(snapshotAt(1), undefined)).toBe(true)
    },
    supports.delete,
  )

  rule(
    'G8 an update of a deleted session is a conflict and does not bring it back',
    async ({ storage }) => {
      await storage.save(snapshotAt(5), undefined)
      await storage.delete?.(ID)
      expect(await storage.save(snapshotAt(6), 5)).toBe(false)
      expect(await storage.load(ID)).toBe(undefined)
    },
    supports.delete,
  )

  rule(
    'a delete takes one session, does not mind one that is not there, and honours an aborted signal',
    async ({ storage }) => {
      await storage.save(snapshotAt(1), undefined)
      await storage.save(snapshotAt(1, 'session-2'), undefined)
      await storage.delete?.('session-3')
      await expectRejection(() => storage.delete?.(ID, AbortSignal.abort(new Error('enough'))))
      expect(cursorOf(await storage.load(ID))).toBe(1)
      await storage.delete?.('session-2')
      expect(cursorOf(await storage.load(ID))).toBe(1)
    },
    supports.delete,
  )

  rule(
    'G10 another account cannot load, overwrite or delete a session, and may have one of the same id',
    async ({ storage, otherAccount }) => {
      if (!otherAccount) throw new Error('create() has to give otherAccount where supports.accounts is true')
      await storage.save(fullSnapshot(3), undefined)
      expect(await otherAccount.load(ID)).toBe(undefined)
      expect(await otherAccount.save(snapshotAt(4), 3)).toBe(false)
      await otherAccount.delete?.(ID)
      expect(await otherAccount.save(snapshotAt(1), undefined)).toBe(true)
      expect(plain(await storage.load(ID))).toEqual(plain(fullSnapshot(3)))
      expect(cursorOf(await otherAccount.load(ID))).toBe(1)
    },
    supports.accounts,
  )

  rule(
    'F33 a row that is no snapshot refuses to load, and does not touch other sessions',
    async ({ storage, corrupt }) => {
      if (!corrupt) throw new Error('create() has to give corrupt where supports.corrupt is true')
      await storage.save(snapshotAt(1), undefined)
      await storage.save(snapshotAt(1, 'session-2'), undefined)
      await corrupt(ID)
      await expectRejection(() => storage.load(ID))
      expect(cursorOf(await storage.load('session-2'))).toBe(1)
    },
    supports.corrupt,
  )
}

const ID = 'session-1'
const DEFINITION: ChatDefinition = {
  id: 'suite',
  chat: {
    adapter: {
      createSource: () => ({
        async *stream() {
          yield { type: 'done' }
        },
        abort() {},
      }),
    },
  },
}

type Mutable = {
  cursor: number
  confirmations: unknown[]
  conversation: { state: string; decisions: unknown[] }
}

function resume(storage: SessionStorage) {
  return resumeChatSession(DEFINITION, { sessionId: ID, storage })
}

function snapshotAt(cursor: number, sessionId = ID): Snapshot {
  return {
    protocol: SESSION_PROTOCOL,
    version: SESSION_PROTOCOL_VERSION,
    sessionId,
    definitionId: DEFINITION.id,
    definitionRevision: 1,
    updatedAt: '2026-10-01T00:00:00.000Z',
    cursor,
    confirmations: [],
  }
}

/** Uses every field that a first save may bring. */
function fullSnapshot(cursor: number): Snapshot {
  return {
    ...snapshotAt(cursor),
    terminalTurns: [{ turnId: 'turn-0', outcome: 'indeterminate' }],
    conversation: {
      state: 'active',
      decisions: [
        {
          messageId: 'user-1',
          input: '/start',
          routeId: 'start',
          kind: 'deterministic',
          content: 'Started \u{1F680} \u0000',
          fromState: 'idle',
          toState: 'active',
        },
      ],
    },
    confirmations: [pending(0), pending(1)],
  }
}

function pending(index: number): Snapshot['confirmations'][number] {
  return {
    token: `confirm-${index}`,
    action: 'refund',
    input: { order: index, nested: { list: [1, 'two', null, true] } },
    toolCallId: `app-${index}`,
    expiresAt: 1_900_000_000_000,
    status: 'pending',
  }
}

function invalidSnapshots(cursor: number): Snapshot[] {
  const good = snapshotAt(cursor)
  const changes: Record<string, unknown>[] = [
    { protocol: 'other' },
    { version: 2 },
    { definitionId: 'has space' },
    { definitionRevision: 0 },
    { updatedAt: '2026-10-01T00:00:00' },
    { activeTurn: null },
    { confirmations: undefined },
    { confirmations: [pending(0), pending(0)] },
    { confirmations: [{ ...pending(0), input: { at: new Date(0) } }] },
    { confirmations: Array.from({ length: 1001 }, (_, index) => pending(index)) },
    { conversation: { state: '', decisions: [] } },
  ]
  return changes.map((change) => ({ ...good, ...change }) as unknown as Snapshot)
}

function wins(answers: readonly boolean[]): number {
  return answers.filter((answer) => answer === true).length
}

/** A storage may answer an object or its JSON text. */
function plainText(loaded: unknown): string {
  return typeof loaded === 'string' ? loaded : (JSON.stringify(loaded) ?? '')
}

function plain(loaded: unknown): unknown {
  return JSON.parse(plainText(loaded))
}

function cursorOf(loaded: unknown): unknown {
  return (plain(loaded) as { cursor?: unknown }).cursor
}
