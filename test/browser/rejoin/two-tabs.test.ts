import { openRejoin, type Rejoin, type SessionSnapshot } from 'rejoin'
import { afterEach, expect, test, vi } from 'vitest'

const open: Rejoin[] = []

/** Two handles on one realm hear each other as two tabs do: through IndexedDB, locks and a channel. */
async function tabs(realm: string = crypto.randomUUID()): Promise<[Rejoin, Rejoin]> {
  const pair: [Rejoin, Rejoin] = [
    await openRejoin({ account: 'acme', realm }),
    await openRejoin({ account: 'acme', realm }),
  ]
  open.push(...pair)
  return pair
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((rejoin) => rejoin.close()))
})

const message = (content: string) => ({
  id: 'a1',
  role: 'assistant' as const,
  content,
  status: 'streaming' as const,
  createdAt: new Date(0),
})

const snapshot = (cursor: number): SessionSnapshot => ({
  protocol: 'agentskit.chat.session',
  version: 1,
  sessionId: 'chat-1',
  definitionId: 'desk',
  definitionRevision: 1,
  updatedAt: '2026-11-30T12:00:00.000Z',
  cursor,
  confirmations: [],
})

test('F41 a token that streams in one tab shows in the other, without a server', async () => {
  const [a, b] = await tabs()
  const shown: string[] = []
  await b.messages('chat-1').whenLoaded()
  b.messages('chat-1').subscribe(() => shown.push(b.messages('chat-1').get()[0]?.content ?? ''))
  await a.memory('chat-1').save([message('Hel')])
  await a.memory('chat-1').save([message('Hello')])
  await vi.waitFor(() => expect(shown.at(-1)).toBe('Hello'))
})

test('F29 F34 of two tabs that save at one cursor exactly one is told true, 100 rounds long', async () => {
  const [a, b] = await tabs()
  expect(await a.storage.save(snapshot(0), undefined)).toBe(true)
  for (let cursor = 0; cursor < 100; cursor++) {
    const told = await Promise.all([a, b].map(({ storage }) => storage.save(snapshot(cursor + 1), cursor)))
    expect(told.toSorted()).toEqual([false, true])
  }
  expect(await b.storage.load('chat-1')).toMatchObject({ cursor: 100 })
})

test('G4 what was stored is there for the next tab, after all others are closed', async () => {
  const realm = crypto.randomUUID()
  const [a, b] = await tabs(realm)
  await a.memory('chat-1').save([{ ...message('kept'), status: 'complete' }])
  await a.messages('chat-1').whenStored()
  expect(a.status.get()).toMatchObject({ state: 'local' })
  await Promise.all([a.close(), b.close()])
  const [c] = await tabs(realm)
  expect(await c.memory('chat-1').load()).toMatchObject([{ content: 'kept', status: 'complete' }])
})
