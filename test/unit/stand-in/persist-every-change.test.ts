import { buildMessage, createChatController, createInMemoryMemory, type Message } from '@agentskit/core'
import { expect, test } from 'vitest'
import { createManualAdapter, settled } from './manual-adapter.ts'
import { createRecordingMemory, deferred } from './recording-memory.ts'

const regime = 'every-change'
const old: Message[] = [
  buildMessage({ role: 'user', content: 'before' }),
  buildMessage({ role: 'assistant', content: 'answer' }),
]

test('M6 the controller asks for its history while it is made, shows it, and tells how much it was', async () => {
  const events: unknown[] = []
  const memory = createRecordingMemory({ load: () => old })
  const observers = [{ on: (event: unknown) => void events.push(event) }]
  const controller = createChatController({ adapter: createManualAdapter(), memory, observers, regime })
  expect(memory.log).toEqual(['load'])
  await settled()
  expect(controller.getState().messages).toBe(old)
  expect(memory.log).toEqual(['load'])
  expect(events).toContainEqual({ type: 'memory:load', messageCount: 2 })
  controller.setMessages(old)
  await settled()
  expect(events).toContainEqual({ type: 'memory:save', messageCount: 2 })
})

test('P1 a turn with three chunks saves five times, also what still streams', async () => {
  const adapter = createManualAdapter()
  const memory = createRecordingMemory()
  const controller = createChatController({ adapter, memory, regime })
  await settled()
  const sent = controller.send('hi')
  for (const word of ['one ', 'two ', 'three']) await adapter.sources[0]?.text(word)
  await adapter.sources[0]?.end()
  await sent
  expect(memory.saves.map((messages) => messages.at(-1)?.content)).toEqual([
    '',
    'one ',
    'one two ',
    'one two three',
    'one two three',
  ])
  expect(memory.saves.at(-2)?.at(-1)?.status).toBe('streaming')
  expect(memory.saves.at(-1)?.at(-1)?.status).toBe('complete')
})

test('M7 P2 while one save is under way the newest state alone waits, so two saves are stored', async () => {
  const adapter = createManualAdapter()
  const first = deferred()
  let stored = 0
  const memory = createRecordingMemory({
    save: () => {
      stored += 1
      return stored === 1 ? first.promise : undefined
    },
  })
  const controller = createChatController({ adapter, memory, regime })
  await settled()
  const sent = controller.send('hi')
  await adapter.sources[0]?.text('partial')
  controller.stop()
  expect(memory.saves).toHaveLength(1)
  first.resolve()
  await settled()
  expect(memory.saves).toHaveLength(2)
  expect(memory.saves[1]?.at(-1)).toMatchObject({ content: 'partial', status: 'complete' })
  await adapter.sources[0]?.end()
  await sent
})

test('P3 H2 a keystroke before the history arrives saves an empty list over it', async () => {
  const memory = createInMemoryMemory(old)
  const controller = createChatController({ adapter: createManualAdapter(), memory, regime })
  controller.setInput('h')
  await settled()
  expect(controller.getState().messages).toEqual(old)
  expect(await memory.load()).toEqual([])
})

test('P4 H3 a message sent before the history arrives replaces it', async () => {
  const adapter = createManualAdapter()
  const memory = createInMemoryMemory(old)
  const controller = createChatController({ adapter, memory, regime })
  const sent = controller.send('early')
  await settled()
  await adapter.sources[0]?.end()
  await sent
  await settled()
  expect((await memory.load()).map((message) => message.content)).toEqual(['early', ''])
})

test('P6 H7 a swapped memory is never loaded and gets the conversation of the other', async () => {
  const controller = createChatController({ adapter: createManualAdapter(), memory: createInMemoryMemory(old), regime })
  await settled()
  const swapped = createRecordingMemory()
  controller.updateConfig({ memory: swapped })
  controller.setInput('x')
  expect(swapped.log).toEqual(['save 2'])
})

test('P7 H4 H10 failures of memory are silent, and a failed load is not tried again', async () => {
  const fail = () => Promise.reject(new Error('full'))
  const memory = createRecordingMemory({ load: fail, save: fail })
  const controller = createChatController({ adapter: createManualAdapter(), memory, regime })
  controller.setInput('x')
  await settled()
  controller.updateConfig({ memory })
  await settled()
  expect(controller.getState()).toMatchObject({ error: null, status: 'idle' })
  expect(memory.log).toEqual(['load', 'save 0'])
})

test('P8 H9 a save that never settles ends saving', async () => {
  const memory = createRecordingMemory({ save: () => new Promise(() => {}) })
  const controller = createChatController({ adapter: createManualAdapter(), memory, regime })
  for (const input of ['a', 'ab', 'abc']) controller.setInput(input)
  await settled()
  expect(memory.saves).toHaveLength(1)
})

test('P9 H6 with a save under way, memory sees clear before the save of the empty list', async () => {
  const save = deferred()
  const memory = createRecordingMemory({ load: () => old, save: () => save.promise })
  const controller = createChatController({ adapter: createManualAdapter(), memory, regime })
  await settled()
  controller.setInput('x')
  await controller.clear()
  save.resolve()
  await settled()
  expect(memory.log).toEqual(['load', 'save 2', 'clear', 'save 0'])
})

test('P9 an error of clear reaches the caller', async () => {
  const memory = createRecordingMemory({ clear: () => Promise.reject(new Error('locked')) })
  const controller = createChatController({ adapter: createManualAdapter(), memory, regime })
  await expect(controller.clear()).rejects.toThrow('locked')
})

test('P13 a keystroke saves the same array again', async () => {
  const memory = createRecordingMemory({ load: () => old })
  const controller = createChatController({ adapter: createManualAdapter(), memory, regime })
  await settled()
  controller.setInput('x')
  controller.setInput('xy')
  expect(memory.saves).toEqual([old, old])
  expect(memory.saves[0]).toBe(memory.saves[1])
})

test('P15 H5 a tab that never saw the messages of another saves without them', async () => {
  const memory = createInMemoryMemory(old)
  const controller = createChatController({ adapter: createManualAdapter(), memory, regime })
  await settled()
  await memory.save([...old, buildMessage({ role: 'user', content: 'from the other tab' })])
  controller.setInput('x')
  await settled()
  expect(await memory.load()).toHaveLength(2)
})

test('P16 an error of the model is saved twice and shown', async () => {
  const adapter = createManualAdapter()
  const memory = createRecordingMemory()
  const controller = createChatController({ adapter, memory, regime })
  const sent = controller.send('hi')
  await settled()
  const before = memory.saves.length
  await adapter.sources[0]?.push({ type: 'error', content: 'no answer' })
  await sent
  expect(memory.saves.length - before).toBe(2)
  expect(controller.getState()).toMatchObject({ status: 'error', error: { message: 'no answer' } })
  expect(controller.getState().messages.at(-1)?.status).toBe('error')
})

test('P17 P18 H12 messages put in from outside keep a running answer only if it is among them', async () => {
  const adapter = createManualAdapter()
  const controller = createChatController({ adapter, regime })
  const sent = controller.send('hi')
  await adapter.sources[0]?.text('one ')
  const foreign = buildMessage({ role: 'user', content: 'elsewhere' })
  controller.setMessages([foreign, ...controller.getState().messages])
  await adapter.sources[0]?.text('two')
  expect(controller.getState().messages.at(-1)?.content).toBe('one two')
  controller.setMessages([foreign])
  await adapter.sources[0]?.text(' three')
  expect(controller.getState().messages).toEqual([foreign])
  await adapter.sources[0]?.end()
  await sent
})

test('H1 stop right after creation saves an empty list before the history arrives', async () => {
  const memory = createRecordingMemory({ load: () => old })
  const controller = createChatController({ adapter: createManualAdapter(), memory, regime })
  controller.stop()
  await settled()
  expect(memory.log).toEqual(['load', 'save 0'])
  expect(controller.getState().messages).toBe(old)
})
