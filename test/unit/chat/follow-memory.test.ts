import { createChatController, type Message, type PersistenceRegime } from '@agentskit/core'
import { expect, test } from 'vitest'
import { followMemory } from '../../../src/chat/follow-memory.ts'
import { createManualAdapter, settled } from '../stand-in/manual-adapter.ts'
import { createRecordingMemory, deferred } from '../stand-in/recording-memory.ts'

function follow(regime: PersistenceRegime, over: Parameters<typeof createRecordingMemory>[0] = {}) {
  const recording = createRecordingMemory(over)
  const onSaved = () => {}
  const followed = followMemory(recording, { caller: { knows: [] }, onLoaded: () => {}, onSaved })
  const adapter = createManualAdapter()
  const controller = createChatController({ adapter, memory: followed.memory, regime })
  return { recording, adapter, controller, followed }
}

const contents = (saves: readonly (readonly Message[])[]) => saves.map((messages) => messages.at(-1)?.content)

test('H9 what a controller saves by itself is not saved once more, also while a save of its own is under way', async () => {
  const first = deferred()
  let saves = 0
  const save = () => (++saves === 1 ? first.promise : undefined)
  const { recording, adapter, controller, followed } = follow('every-change', { save })
  followed.saveChanges(controller)
  const sent = controller.send('hi')
  await adapter.sources[0]?.text('one ')
  await adapter.sources[0]?.text('two')
  expect(contents(recording.saves)).toEqual([''])
  first.resolve()
  await settled()
  expect(contents(recording.saves)).toEqual(['', 'one two'])
  await adapter.sources[0]?.end()
  await sent
  await settled()
  expect(recording.saves).toHaveLength(3)
})

test('M14 H11 what a controller keeps to itself until the end of a turn is saved as it changes', async () => {
  const { recording, adapter, controller, followed } = follow('finalized')
  followed.saveChanges(controller)
  const sent = controller.send('hi')
  await adapter.sources[0]?.text('one ')
  await settled()
  expect(contents(recording.saves)).toEqual(['', 'one '])
  await adapter.sources[0]?.end()
  await sent
  await settled()
  expect(recording.saves).toHaveLength(3)
})

test('a controller that changes when it saves is followed from its next change', async () => {
  const { recording, controller, followed } = follow('every-change')
  let savesItself = true
  const listeners = new Set<() => void>()
  let messages: readonly Message[] = []
  const changing = {
    getState: () => ({ ...controller.getState(), messages }),
    subscribe: (listener: () => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const change = async (content: string) => {
    messages = [{ id: 'm', role: 'user', status: 'complete', content, createdAt: new Date(0) }]
    if (savesItself) await followed.memory.save([...messages])
    if (savesItself) messages = recording.saves.at(-1) ?? messages
    for (const listener of listeners) listener()
    await settled()
  }
  followed.saveChanges(changing)
  await change('one')
  savesItself = false
  await change('two')
  savesItself = true
  await change('three')
  expect(contents(recording.saves)).toEqual(['one', 'two', 'three'])
})
