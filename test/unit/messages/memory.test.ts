import { expect, test } from 'vitest'
import { createDevice, message, settled } from './tabs.ts'

test('M1 an empty session loads as an empty list, and what was saved loads again', async () => {
  const tab = await createDevice().openTab()
  const memory = tab.memory()
  expect(await memory.load()).toEqual([])
  const list = [message('u1', 'hello'), message('a1', 'hi', { metadata: { model: 'm' } })]
  await memory.save(list)
  const loaded = await memory.load()
  expect(loaded).toEqual(list)
  expect(await memory.load()).not.toBe(loaded)
})

test('F41 what one tab saves another one shows, and a third reads from disk', async () => {
  const device = createDevice()
  const [a, b] = [await device.openTab(), await device.openTab()]
  await a.memory().load()
  await b.memory().load()
  await a.memory().save([message('u1', 'hello')])
  await settled()
  expect(b.texts()).toEqual(['hello'])
  const c = await device.openTab()
  expect((await c.memory().load()).map(({ content }) => content)).toEqual(['hello'])
})
