import { createChatController, type PersistenceRegime } from '@agentskit/core'
import { connectChat } from 'rejoin'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createTestDevice } from '../sync/device.ts'

/** A chat in which a refund was proposed, and whose messages were cleared then. */
async function clearedChat(regime: PersistenceRegime, ttlMs?: number) {
  const device = createTestDevice('cleared', undefined)
  onTestFinished(() => device.close())
  const ran: unknown[] = []
  const tools = [{ name: 'refund', requiresConfirmation: true, execute: (args: unknown) => `${ran.push(args)}` }]
  const adapter = { createSource: () => ({ async *stream() {}, abort: () => {} }) }
  const chat = await connectChat({
    rejoin: await device.open(),
    sessionId: 'chat',
    createController: (config) => createChatController({ ...config, tools, regime }),
    definition: { id: 'chat', chat: { adapter } },
    ...(ttlMs !== undefined && { ttlMs }),
  })
  const { token } = await chat.confirmation.propose({ name: 'refund', input: { euros: 5 } })
  await chat.controller.clear()
  await vi.waitFor(() => expect(chat.controller.getState().messages).toEqual([]))
  return { chat, token, ran, statuses: () => chat.session.getConfirmations().map(({ status }) => status) }
}

for (const regime of ['every-change', 'finalized'] as const) {
  test(`K2 G3 what was proposed in a message that was cleared can be rejected, and not approved (${regime})`, async () => {
    const { chat, token, ran, statuses } = await clearedChat(regime)
    await expect(chat.confirmation.approve(token, 'chat')).rejects.toMatchObject({ code: 'nothing-to-run' })
    expect(statuses()).toEqual(['pending'])
    await chat.confirmation.reject(token, 'chat')
    expect(statuses()).toEqual(['rejected'])
    expect(ran).toEqual([])
  })

  test(`K2 K9 what was proposed in a message that was cleared expires (${regime})`, async () => {
    const { chat, token, ran, statuses } = await clearedChat(regime, 1)
    await chat.confirmation.approve(token, 'chat')
    expect(statuses()).toEqual(['expired'])
    expect(ran).toEqual([])
  })
}
