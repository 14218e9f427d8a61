import { expect, test } from 'vitest'
import type { ToolCall } from '../../../src/contract/chat-message.ts'
import { createDevice, message } from './tabs.ts'

const call = (status: ToolCall['status']): ToolCall => ({ id: 'c1', name: 'refund', args: {}, status })

test('G3 a change of the only message that a chat was fed is written, although the changed object is unknown', async () => {
  const device = createDevice()
  const [other, tab] = [await device.openTab(), await device.openTab()]
  const memory = tab.memory()
  expect(await memory.load()).toEqual([])
  await other.memory().load()
  await other.memory().save([message('a1', '', { toolCalls: [call('requires_confirmation')] })])
  const messages = tab.store.messages('s1')
  await messages.whenLoaded()
  await expect.poll(() => messages.get()).toHaveLength(1)
  const fed = messages.get()
  await memory.save([...fed])

  const decided = { ...fed[0], id: 'a1', toolCalls: [call('error')] }
  await memory.save([decided as never])

  expect(tab.store.messages('s1').toolCall('c1')).toMatchObject({ status: 'error' })
})
