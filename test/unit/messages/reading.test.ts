import { expect, test } from 'vitest'
import type { Message } from '../../../src/contract/chat-message.ts'
import { createDevice, message, settled } from './tabs.ts'

test('get is the same array until something changed, and keeps the objects of messages that did not', async () => {
  const tab = await createDevice().openTab()
  const messages = tab.store.messages('s1')
  expect(messages.get()).toBe(messages.get())
  const list = [message('u1', 'one'), message('a1', 'two')]
  await tab.memory().save(list)
  const before = messages.get()
  expect(messages.get()).toBe(before)
  await tab.memory().save([list[0] as Message, { ...(list[1] as Message), content: 'two!' }])
  const after = messages.get()
  expect(after).not.toBe(before)
  expect(after[0]).toBe(before[0])
  expect(after[1]).not.toBe(before[1])
  await tab.memory().save([...list.slice(0, 1), { ...(list[1] as Message), content: 'two!' }, message('u2', 'x')])
  expect(messages.get().slice(0, 2)).toEqual(after)
  expect(messages.get()[1]).toBe(after[1])
})

test('listeners hear of a burst of changes once per frame', async () => {
  const device = createDevice()
  const tab = await device.openTab()
  let heard = 0
  const stop = tab.store.messages('s1').subscribe(() => heard++)
  await tab.store.messages('s1').whenLoaded()
  device.clock.paint()
  heard = 0
  for (let token = 0; token < 20; token++) await tab.memory().save([message('a1', 'x'.repeat(token))])
  expect(heard).toBe(0)
  expect(device.clock.frames()).toBe(1)
  device.clock.paint()
  expect(heard).toBe(1)
  device.clock.paint()
  expect(heard).toBe(1)
  stop()
  await tab.memory().save([message('a1', 'more')])
  expect(device.clock.frames()).toBe(0)
})

test('a listener that subscribes sees what is on disk without asking for more', async () => {
  const device = createDevice()
  await (await device.openTab()).memory().save([message('u1', 'one')])
  const tab = await device.openTab()
  let heard = 0
  tab.store.messages('s1').subscribe(() => heard++)
  await settled()
  device.clock.paint()
  expect(heard).toBe(1)
  expect(tab.texts()).toEqual(['one'])
})

test('a tool call is found as it is now', async () => {
  const tab = await createDevice().openTab()
  const messages = tab.store.messages('s1')
  expect(messages.toolCall('c1')).toBeUndefined()
  const call = { id: 'c1', name: 'refund', args: { amount: 3 }, status: 'requires_confirmation' as const }
  const list = [message('u1', 'x'), message('a1', '', { toolCalls: [call] }), message('u2', 'y')]
  await tab.memory().save(list)
  expect(messages.toolCall('c1')).toEqual(call)
  const done = { ...call, status: 'complete' as const, result: 'refunded' }
  await tab.memory().save(list.with(1, { ...(list[1] as Message), toolCalls: [done] }))
  expect(messages.toolCall('c1')).toEqual(done)
})

test('two tabs that each settle another call of one message keep both outcomes', async () => {
  const device = createDevice()
  const [a, b] = [await device.openTab(), await device.openTab()]
  const call = (id: string, status: 'pending' | 'complete') => ({ id, name: 'n', args: {}, status })
  await a.memory().save([message('a1', '', { toolCalls: [call('c1', 'pending'), call('c2', 'pending')] })])
  const [ofA, ofB] = [(await a.memory().load())[0] as Message, (await b.memory().load())[0] as Message]
  await Promise.all([
    a.memory().save([{ ...ofA, toolCalls: [call('c1', 'complete'), call('c2', 'pending')] }]),
    b.memory().save([{ ...ofB, toolCalls: [call('c1', 'pending'), call('c2', 'complete')] }]),
  ])
  await settled()
  for (const tab of [a, b]) {
    expect(
      tab.store
        .messages('s1')
        .get()[0]
        ?.toolCalls?.map(({ status }) => status),
    ).toEqual(['complete', 'complete'])
  }
})

test('isUsed says whether a call can be looked for', async () => {
  const device = createDevice()
  const tab = await device.openTab()
  expect(await tab.store.isUsed('s1')).toBe(false)
  tab.memory('s1')
  expect(await tab.store.isUsed('s1')).toBe(true)
  await tab.memory('s2').save([message('u1', 'x')])
  expect(await (await device.openTab()).store.isUsed('s2')).toBe(true)
})
