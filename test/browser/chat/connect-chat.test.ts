import {
  type AdapterFactory,
  type ChatController,
  createChatController,
  type PersistenceRegime,
  setPersistenceRegime,
} from '@agentskit/core'
import { connectChat, openRejoin } from 'rejoin'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { REFUND_TOOL, refundDesk } from '../../../demo/src/refund-desk.ts'

afterEach(() => setPersistenceRegime('every-change'))

/** A model whose answer the test gives, token by token. */
function fedModel() {
  const { readable, writable } = new TransformStream<string, string>(undefined, { highWaterMark: 100 })
  const writer = writable.getWriter()
  const adapter: AdapterFactory = {
    createSource: () => ({
      stream: async function* () {
        for await (const content of readable) yield { type: 'text', content }
        yield { type: 'done' }
      },
      abort: () => void writer.close().catch(() => {}),
    }),
  }
  return { adapter, feed: (token: string) => writer.write(token), end: () => writer.close() }
}

/** A model that calls for a refund, and has nothing to say to its result. */
function refundingModel(): AdapterFactory {
  return {
    createSource: ({ messages }) => ({
      stream: async function* () {
        if (messages.findLast(({ role }) => role !== 'assistant')?.role === 'user') {
          const args = JSON.stringify({ refundId: 'r1', order: 'A', euros: 5 })
          yield { type: 'text', content: 'Shall I?' }
          yield { type: 'tool_call', toolCall: { id: 'call-1', name: REFUND_TOOL, args } }
        }
        yield { type: 'done' }
      },
      abort: () => {},
    }),
  }
}

/** A tab: its own Rejoin over the same database. */
async function openTab(realm: string, adapter = fedModel().adapter) {
  const ran: string[] = []
  const rejoin = await openRejoin({ account: 'connect-chat', realm })
  const chat = await connectChat({
    rejoin,
    sessionId: 'desk',
    createController: createChatController,
    definition: refundDesk({
      adapter,
      refund: async ({ refundId }) => {
        ran.push(refundId)
        return 'Refunded.'
      },
    }),
  })
  const close = async () => {
    chat.close()
    await rejoin.close()
  }
  onTestFinished(close)
  const shown = () => chat.controller.getState().messages.map(({ content }) => content)
  return { rejoin, chat, ran, shown, close }
}

for (const regime of ['every-change', 'finalized'] satisfies PersistenceRegime[]) {
  test(`E2E 1 · F34 F41 what one tab says shows in the other, and neither loses the other's (${regime})`, async () => {
    setPersistenceRegime(regime)
    const realm = crypto.randomUUID()
    const a = await openTab(realm)
    const b = await openTab(realm)
    await a.chat.controller.send('/help')
    await expect.poll(b.shown).toEqual(a.shown())
    await b.chat.controller.send('/order')
    await expect.poll(a.shown).toHaveLength(4)
    await a.chat.controller.send('/confirm')
    await expect.poll(a.shown).toContain('Your order is placed. If you change your mind, ask for a /refund.')
    await expect.poll(b.shown).toEqual(a.shown())
    await expect.poll(() => b.chat.session.getConversationSnapshot()?.state).toBe('placed')
  })

  test(`P17 P18 H12 what another tab says while an answer streams here costs it no token (${regime})`, async () => {
    setPersistenceRegime(regime)
    const realm = crypto.randomUUID()
    const model = fedModel()
    const a = await openTab(realm, model.adapter)
    const b = await openTab(realm)
    const sent = a.chat.controller.send('hello')
    await model.feed('one ')
    await expect.poll(() => a.shown().at(-1)).toBe('one ')
    await b.chat.controller.send('/help')
    await expect.poll(a.shown).toContain('/help')
    for (const token of ['two ', 'three']) await model.feed(token)
    await model.end()
    await sent
    expect(a.shown()).toContain('one two three')
    await expect.poll(() => [...b.shown()].sort()).toEqual([...a.shown()].sort())
    expect(b.shown()).toEqual(a.shown())
  })

  test(`G1 G3 F13 a proposed refund runs once, in the tab that proposed it (${regime})`, async () => {
    setPersistenceRegime(regime)
    const realm = crypto.randomUUID()
    const model = fedModel()
    // After the refund the chat asks the model, which has nothing to say.
    await model.end()
    const a = await openTab(realm, model.adapter)
    const { token } = await a.chat.confirmation.propose({
      name: REFUND_TOOL,
      input: { refundId: 'r1', order: 'A', euros: 5 },
    })
    expect((await a.chat.confirmation.approve(token, 'desk')).status).toBe('approved')
    expect(a.ran).toEqual(['r1'])
    await a.close()
    const b = await openTab(realm)
    expect(b.chat.session.getConfirmations()).toMatchObject([{ token, status: 'approved' }])
    expect(b.chat.controller.getState().messages[0]?.toolCalls?.[0]).toMatchObject({ status: 'complete' })
  })

  test(`G1 C8 what the model calls for waits for a person, and runs once by the id of its call (${regime})`, async () => {
    setPersistenceRegime(regime)
    const a = await openTab(crypto.randomUUID(), refundingModel())
    await a.chat.controller.send('I want my money back')
    await expect.poll(a.chat.session.getConfirmations).toMatchObject([{ toolCallId: 'call-1', status: 'pending' }])
    expect(a.ran).toEqual([])
    await Promise.all([a.chat.approve('call-1'), a.chat.approve('call-1')])
    expect(a.ran).toEqual(['r1'])
    expect(a.chat.session.getConfirmations()).toMatchObject([{ toolCallId: 'call-1', status: 'approved' }])
  })

  test(`G1 G3 C8 what the model of one tab calls for is approved in another, and runs there, once (${regime})`, async () => {
    setPersistenceRegime(regime)
    const realm = crypto.randomUUID()
    const a = await openTab(realm, refundingModel())
    const b = await openTab(realm, refundingModel())
    await a.chat.controller.send('I want my money back')
    await expect.poll(b.chat.session.getConfirmations).toMatchObject([{ toolCallId: 'call-1', status: 'pending' }])
    await expect.poll(() => b.shown()).toContain('Shall I?')
    expect((await b.chat.approve('call-1')).status).toBe('approved')
    expect([a.ran, b.ran]).toEqual([[], ['r1']])
    await expect.poll(a.chat.session.getConfirmations).toMatchObject([{ toolCallId: 'call-1', status: 'approved' }])
    expect((await a.chat.approve('call-1')).status).toBe('approved')
    expect(a.ran).toEqual([])
  })

  test(`H11 a chat that is closed in the middle of an answer leaves it ended, with what was said (${regime})`, async () => {
    setPersistenceRegime(regime)
    const realm = crypto.randomUUID()
    const model = fedModel()
    const a = await openTab(realm, model.adapter)
    const b = await openTab(realm)
    void a.chat.controller.send('hello')
    await model.feed('one ')
    await expect.poll(b.shown).toEqual(['hello', 'one '])
    a.chat.close()
    await expect
      .poll(() => b.chat.controller.getState().messages.at(-1))
      .toMatchObject({ status: 'complete', content: 'one ' })
  })

  test(`E2E 2 · F26 every token is in the other tab before the answer ends, and after a reload (${regime})`, async () => {
    setPersistenceRegime(regime)
    const realm = crypto.randomUUID()
    const model = fedModel()
    const a = await openTab(realm, model.adapter)
    const b = await openTab(realm)
    const sent = a.chat.controller.send('hello')
    for (const token of ['one ', 'two ']) await model.feed(token)
    await expect.poll(b.shown).toEqual(['hello', 'one two '])
    const c = await openTab(realm)
    await expect.poll(c.shown).toEqual(['hello', 'one two '])
    await model.end()
    await sent
    await expect.poll(() => c.chat.controller.getState().messages.at(-1)?.status).toBe('complete')
  })
}

test('G3 a call that no confirmation is known for is not run by its id', async () => {
  const { chat, ran } = await openTab(crypto.randomUUID())
  const both = await Promise.allSettled([chat.approve('call-1'), chat.deny('call-1')])
  expect(both).toMatchObject([{ reason: { code: 'nothing-to-run' } }, { reason: { code: 'nothing-to-run' } }])
  expect(ran).toEqual([])
})

test('a chat whose controller cannot be made leaves no session behind', async () => {
  const rejoin = await openRejoin({ account: 'connect-chat', realm: crypto.randomUUID() })
  onTestFinished(() => rejoin.close())
  let watching = 0
  const { watch } = rejoin.storage
  const storage = {
    ...rejoin.storage,
    watch: (...args: Parameters<NonNullable<typeof watch>>) => {
      const stop = watch?.(...args)
      watching++
      return () => {
        watching--
        stop?.()
      }
    },
  }
  const definition = refundDesk({ adapter: fedModel().adapter, refund: async () => '' })
  const connecting = connectChat({
    rejoin: { ...rejoin, storage },
    sessionId: 'desk',
    definition,
    createController: (): ChatController => {
      throw new Error('no controller')
    },
  })
  await expect(connecting).rejects.toThrow('no controller')
  expect(watching).toBe(0)
})
