import {
  buildMessage,
  createChatController,
  MemoryError,
  type Message,
  setPersistenceRegime,
  type ToolCall,
  type ToolDecisionRecord,
  type ToolDecisionStore,
} from '@agentskit/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createManualAdapter, settled } from './manual-adapter.ts'
import { createRecordingMemory, deferred } from './recording-memory.ts'

const old: Message[] = [
  buildMessage({ role: 'user', content: 'before' }),
  buildMessage({ role: 'assistant', content: 'answer' }),
]

beforeEach(() => setPersistenceRegime('finalized'))
afterEach(() => setPersistenceRegime('every-change'))

function refundTool() {
  const ran: unknown[] = []
  const tool = {
    name: 'refund',
    requiresConfirmation: true,
    execute: async (args: Record<string, unknown>) => {
      ran.push(args)
      return 'refunded'
    },
  }
  return { ran, tools: [tool] }
}

function createDecisionStore(): ToolDecisionStore {
  const decisions = new Map<string, ToolDecisionRecord>()
  const put = async (record: ToolDecisionRecord) => void decisions.set(record.toolCallId, record)
  return {
    putPending: put,
    get: async (id) => decisions.get(id),
    claim: async (id, decision) => {
      const record = decisions.get(id)
      if (record?.status !== 'pending') return undefined
      await put({ ...record, status: 'claimed', decision })
      return decisions.get(id)
    },
    settle: put,
  }
}

test('M14 a turn is saved once, when it is complete, and send waits for it', async () => {
  const adapter = createManualAdapter()
  const save = deferred()
  const memory = createRecordingMemory({ save: () => save.promise })
  const controller = createChatController({ adapter, memory })
  let done = false
  const sent = controller.send('hi').then(() => {
    done = true
  })
  controller.setInput('x')
  await adapter.sources[0]?.text('answer')
  expect(memory.saves).toHaveLength(0)
  await adapter.sources[0]?.end()
  expect(memory.saves.map((messages) => messages.length)).toEqual([2])
  expect(done).toBe(false)
  save.resolve()
  await sent
})

test('M14 what is put in from outside, a stopped turn and a failed one are not saved', async () => {
  const adapter = createManualAdapter()
  const memory = createRecordingMemory()
  const controller = createChatController({ adapter, memory })
  await settled()
  controller.setMessages(old)
  const stopped = controller.send('hi')
  controller.stop()
  await adapter.sources[0]?.end()
  await stopped
  const failed = controller.send('again')
  await adapter.sources[1]?.push({ type: 'error' })
  await failed
  await controller.edit(old[0]?.id ?? '', 'edited', { regenerate: false })
  expect(memory.log).toEqual(['load'])
})

test('M14 a failed save shows as an error and does not throw', async () => {
  const adapter = createManualAdapter()
  const errors: Error[] = []
  const memory = createRecordingMemory({ save: () => Promise.reject(new Error('full')) })
  const controller = createChatController({ adapter, memory, onError: (error) => errors.push(error) })
  const sent = controller.send('hi')
  await adapter.sources[0]?.end()
  await sent
  expect(controller.getState()).toMatchObject({ status: 'error', error: { code: 'AK_MEMORY_SAVE_FAILED' } })
  expect(errors).toHaveLength(1)
})

test('M14 a failed load shows as an error, a typed one unchanged, and is tried again with the next configuration', async () => {
  const own = new MemoryError({ code: 'AK_MEMORY_DESERIALIZE_FAILED', message: 'bad record' })
  let fails: Error | undefined = own
  const memory = createRecordingMemory({ load: () => (fails ? Promise.reject(fails) : old) })
  const controller = createChatController({ adapter: createManualAdapter(), memory })
  await settled()
  expect(controller.getState().error).toBe(own)
  fails = new Error('locked')
  controller.updateConfig({})
  await settled()
  expect(controller.getState().error).toMatchObject({ code: 'AK_MEMORY_LOAD_FAILED' })
  fails = undefined
  controller.updateConfig({})
  await settled()
  expect(controller.getState().messages).toBe(old)
})

test('P9 clear ends the stream and clears memory without saving an empty list', async () => {
  const adapter = createManualAdapter()
  const memory = createRecordingMemory({ clear: () => Promise.reject(new Error('locked')) })
  const controller = createChatController({ adapter, memory })
  const sent = controller.send('hi')
  await controller.clear()
  expect(adapter.sources[0]?.aborts).toBe(1)
  await adapter.sources[0]?.text('late')
  await sent
  expect(controller.getState()).toMatchObject({ messages: [], error: { code: 'AK_MEMORY_CLEAR_FAILED' } })
  expect(memory.log).toEqual(['load', 'clear'])
})

test('H13 a call that was loaded, or that an earlier turn made, is silently not approved', async () => {
  const adapter = createManualAdapter()
  const { ran, tools } = refundTool()
  const waiting: ToolCall = { id: 'call-1', name: 'refund', args: {}, status: 'requires_confirmation' }
  const loaded = [buildMessage({ role: 'assistant', content: '', toolCalls: [waiting] })]
  const memory = createRecordingMemory({ load: () => loaded })
  const controller = createChatController({ adapter, memory, tools })
  await settled()
  await controller.approve('call-1')
  await controller.proposeToolCall({ id: 'call-2', name: 'refund', args: {} })
  const sent = controller.send('a new turn')
  await adapter.sources[0]?.end()
  await sent
  await controller.approve('call-2')
  expect(ran).toEqual([])
})

test('M10 with a decision store a later controller decides, once', async () => {
  const adapter = createManualAdapter()
  const { ran, tools } = refundTool()
  const decisionStore = createDecisionStore()
  const memory = createRecordingMemory()
  const first = createChatController({ adapter, memory, tools, decisionStore })
  await settled()
  await first.proposeToolCall({ id: 'call-1', name: 'refund', args: { amount: 5 } })
  expect(memory.log).toEqual(['load', 'save 1'])

  const second = createChatController({
    adapter,
    tools,
    decisionStore,
    memory: createRecordingMemory({ load: () => memory.saves[0] ?? [] }),
  })
  await settled()
  const approved = second.approve('call-1')
  await settled()
  await adapter.sources[0]?.end()
  await approved
  expect(ran).toEqual([{ amount: 5 }])
  await expect(second.decide?.('call-1', 'deny')).rejects.toMatchObject({ code: 'AK_ACTION_ALREADY_DECIDED' })
  await expect(second.decide?.('call-9', 'deny')).rejects.toMatchObject({ code: 'AK_ACTION_NOT_FOUND' })
})

test('F12 ids of this regime do not collide, those of the other are made of time and a counter', () => {
  expect(buildMessage({ role: 'user', content: '' }).id).toMatch(/^[0-9a-f-]{36}$/)
  setPersistenceRegime('every-change')
  expect(buildMessage({ role: 'user', content: '' }).id).toMatch(/^msg-\d+-\d+$/)
})
