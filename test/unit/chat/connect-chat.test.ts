import { type AdapterFactory, buildMessage, type ChatController, createChatController } from '@agentskit/core'
import { connectChat, type Rejoin } from 'rejoin'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createTestDevice } from '../sync/device.ts'

const silent: AdapterFactory = { createSource: () => ({ async *stream() {}, abort: () => {} }) }

function createDevice() {
  const device = createTestDevice('connect', undefined)
  onTestFinished(() => device.close())
  return device
}

function open(rejoin: Rejoin, createController: typeof createChatController = createChatController) {
  return connectChat({
    rejoin,
    sessionId: 'chat',
    createController,
    definition: { id: 'chat', chat: { adapter: silent } },
  })
}

test('a decision that waits for its confirmation ends with the chat', async () => {
  const chat = await open(await createDevice().open())
  const decided = chat.approve('call-9')
  chat.close()
  await expect(decided).rejects.toMatchObject({ code: 'closed' })
})

test('H4 a document that was closed takes nothing away from the chat that shows it', async () => {
  const rejoin = await createDevice().open()
  const chat = await open(rejoin)
  await chat.controller.send('hello')
  const sent = chat.controller.send('and more')
  await Promise.all([rejoin.close(), sent])
  await vi.waitFor(() => expect(rejoin.messages('chat').get()).toEqual([]))
  expect(chat.controller.getState().messages.map(({ content }) => content)).toContain('hello')
})

test('P4 H12 a controller that saves while it is being made is not fed before it is there', async () => {
  const device = createDevice()
  const other = await open(await device.open())
  const chat = await open(await device.open(), (config) => {
    const controller = createChatController(config)
    controller.setMessages([buildMessage({ role: 'system', content: 'Be brief.' })])
    return controller
  })
  await other.controller.send('hello')
  await vi.waitFor(() => {
    const [mine, others] = [chat, other].map((each) => each.controller.getState().messages)
    expect(mine?.map(({ content }) => content).toSorted()).toEqual(['', 'Be brief.', 'hello'])
    expect(mine?.map(({ id }) => id)).toEqual(others?.map(({ id }) => id))
  })
})

test('G2 one permission is used once, also by a controller whose `decide` returns nothing', async () => {
  const ran: string[] = []
  const refund = { name: 'refund', requiresConfirmation: true, execute: async () => ran.push('refund') }
  const rejoin = await createDevice().open()
  const chat = await connectChat({
    rejoin,
    sessionId: 'chat',
    createController: (config) => {
      const controller = createChatController(config)
      const approve = (id: string) => {
        ran.push('approve')
        return controller.approve(id)
      }
      return {
        ...controller,
        approve,
        decide: (id: string) => void controller.approve(id),
      } as unknown as ChatController
    },
    definition: { id: 'chat', chat: { adapter: silent, tools: [refund] } },
  })
  const { toolCallId } = await chat.confirmation.propose({ name: 'refund', input: {} })
  await chat.approve(toolCallId)
  expect(ran).toEqual(['refund'])
})
