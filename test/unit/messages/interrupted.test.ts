import { expect, test } from 'vitest'
import * as Y from 'yjs'
import { createDevice, message, settled, type Tab } from './tabs.ts'

const streaming = (content: string) => message('a1', content, { status: 'streaming' })
const first = async (tab: Tab) => (await tab.memory().load())[0]

test('H11 F66 a stream whose tab died is closed as interrupted by the next tab of its device, with its text', async () => {
  const device = createDevice()
  const tab = await device.openTab()
  await tab.memory().save([streaming('half an ans')])
  tab.crash()
  await settled()
  const next = await device.openTab()
  expect(await first(next)).toMatchObject({
    content: 'half an ans',
    status: 'complete',
    metadata: { interrupted: true },
  })
  expect(await next.store.closeInterrupted('s1')).toBe(0)
})

test('H11 a stream that another tab is writing is left alone', async () => {
  const device = createDevice()
  const [a, b] = [await device.openTab(), await device.openTab()]
  await a.memory().save([streaming('half')])
  expect(await first(b)).toMatchObject({ status: 'streaming' })
  expect(await b.store.closeInterrupted('s1')).toBe(0)
  await a.memory().save([message('a1', 'half and whole')])
  await settled()
  expect(b.store.messages('s1').get()[0]).toMatchObject({ status: 'complete', content: 'half and whole' })
  expect(b.store.messages('s1').get()[0]?.metadata).toBeUndefined()
})

test('H11 showing another tab’s stream does not prove that it lives', async () => {
  const device = createDevice()
  const [a, b] = [await device.openTab(), await device.openTab()]
  await a.memory().save([streaming('half')])
  const shown = await b.memory().load()
  await b.memory().save(shown)
  await b.memory().save([...b.store.messages('s1').get()])
  a.crash()
  await settled()
  expect(await b.store.closeInterrupted('s1')).toBe(1)
})

test('H11 a writer that was taken for dead opens its message again with its next token', async () => {
  const device = createDevice()
  const tab = await device.openTab()
  await tab.memory().save([streaming('half')])
  await tab.store.document('s1') // and its lock is lost:
  const other = await device.openTab()
  const { doc } = await other.store.document('s1')
  const map = doc.getArray<Y.Map<unknown>>('messages').get(0)
  doc.transact(() => {
    map.set('status', 'complete')
    map.set('interrupted', true)
  })
  await settled()
  await tab.memory().save([streaming('half and')])
  expect(tab.store.messages('s1').get()[0]).toMatchObject({ status: 'streaming', content: 'half and' })
  await tab.memory().save([message('a1', 'half and whole')])
  expect(await first(tab)).toMatchObject({ status: 'complete', content: 'half and whole' })
  expect((await first(tab))?.metadata).toBeUndefined()
})

test('H11 a stream of another device is not closed here', async () => {
  const [far, near] = [await createDevice().openTab(), await createDevice().openTab()]
  await far.memory().save([streaming('half')])
  const { doc } = await near.store.document('s1')
  await near.store.documents.receive('s1', [await far.store.documents.missing('s1', Y.encodeStateVector(doc))])
  expect(await first(near)).toMatchObject({ status: 'streaming' })
  expect(await near.store.closeInterrupted('s1')).toBe(0)
})

test('H11 an interrupted message stays so when others save it unchanged', async () => {
  const device = createDevice()
  const tab = await device.openTab()
  await tab.memory().save([message('a1', 'half', { status: 'streaming', metadata: { model: 'm' } })])
  tab.crash()
  await settled()
  const next = await device.openTab()
  const list = await next.memory().load()
  expect(list[0]?.metadata).toEqual({ model: 'm', interrupted: true })
  await next.memory().save([...list.map((each) => ({ ...each })), message('u2', 'again?')])
  expect((await first(next))?.metadata).toEqual({ model: 'm', interrupted: true })
})
