import { expect, test } from 'vitest'
import type { Device } from './support/device.ts'
import { eventually } from './support/eventually.ts'
import { openStage, openStageWithoutServer } from './support/stage.ts'
import type { Tab } from './support/tab.ts'

test('E2E 2 · G5 F66 an answer that streams in one tab grows in another, also in one that is reloaded in the middle', async () => {
  const { openDevice } = await openStageWithoutServer()
  const laptop = await openDevice('Laptop')
  const writer = await laptop.openTab()
  const reader = await laptop.openTab()
  await followsAnswer(writer, reader, laptop)
})

test('E2E 2 · G5 F66 an answer that streams on one device grows on another, also on one that is reloaded in the middle', async () => {
  const { openDevice } = await openStage()
  const laptop = await openDevice('Laptop')
  const writer = await laptop.openTab()
  await writer.send('hello')
  const phone = await openDevice('Phone')
  const reader = await phone.openTab()
  await followsAnswer(writer, reader, phone)
})

async function followsAnswer(writer: Tab, reader: Tab, device: Device): Promise<void> {
  const answer = async (tab: Tab) => {
    const { role, content, status } = (await tab.view()).chat.at(-1) ?? {}
    return { role, content, status }
  }
  const grown = (content: string, status = 'streaming') => ({ role: 'assistant', content, status })

  await writer.ask('tell me a story')
  await writer.token('Once ')
  await eventually(() => answer(reader)).toEqual(grown('Once '))
  await writer.token('upon ')
  await eventually(() => answer(reader)).toEqual(grown('Once upon '))

  await device.reload(reader)
  expect(await answer(reader)).toEqual(grown('Once upon '))
  await writer.token('a time')
  await eventually(() => answer(reader)).toEqual(grown('Once upon a time'))
  await writer.endAnswer()
  await eventually(() => answer(reader)).toEqual(grown('Once upon a time', 'complete'))
  expect((await reader.view()).chat).toEqual((await writer.view()).chat)
}
