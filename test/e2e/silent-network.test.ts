import { expect, test } from 'vitest'
import { eventually } from './support/eventually.ts'
import { openStage } from './support/stage.ts'
import { synced } from './support/synced.ts'
import { questions } from './support/transcript.ts'

test('G9 F47 F50 a device whose line swallows everything does not say synced, and loses nothing when the line is back', async () => {
  const { openDevice } = await openStage()
  const [laptop, phone] = [await openDevice('Laptop'), await openDevice('Phone')]
  const tab = await laptop.openTab()
  await tab.send('before')
  await synced(tab)
  const reader = await phone.openTab()
  laptop.cable.blackhole()

  await tab.send('into the silence')
  await eventually(() => tab.view()).toMatchObject({ status: { state: 'syncing', unsent: { messages: 1 } } })
  expect(questions(await reader.view())).toEqual(['before'])

  laptop.cable.heal()
  await synced(tab)
  await eventually(async () => questions(await reader.view())).toEqual(['before', 'into the silence'])
})
