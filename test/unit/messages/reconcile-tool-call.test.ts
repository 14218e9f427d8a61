import { expect, test } from 'vitest'
import type { ChatMemory } from '../../../src/contract/chat-memory.ts'
import type { Message, ToolCallStatus } from '../../../src/contract/chat-message.ts'
import { reconcileToolCall, type ToolCallFinding } from '../../../src/messages/reconcile-tool-call.ts'

const base = { content: '', status: 'complete', createdAt: new Date(0) } as const
const environment = { newId: () => 'new', now: () => 5 }

function memoryWith(status: ToolCallStatus): ChatMemory & { stored: Message[] } {
  const memory = {
    stored: [
      { ...base, id: 'a', role: 'assistant', toolCalls: [{ id: 'call', name: 'refund', args: {}, status }] },
      { ...base, id: 'u', role: 'user', content: 'and?' },
    ] as Message[],
    load: () => memory.stored,
    save(messages: Message[]) {
      memory.stored = messages
    },
  }
  return memory
}

async function after(status: ToolCallStatus, ...findings: ToolCallFinding[]): Promise<Message[]> {
  const memory = memoryWith(status)
  for (const finding of findings) await reconcileToolCall(memory, 'call', finding, environment)
  return memory.stored
}

test('K8 what did not run waits for a decision again', async () => {
  const [asking, next] = await after('running', { kind: 'did-not-run' })
  expect(asking?.toolCalls).toMatchObject([{ status: 'requires_confirmation' }])
  expect(next?.id).toBe('u')
})

test('K8 H14 what ran has a result, and an answer right after it that comes once', async () => {
  const ran = { kind: 'ran', answer: 'It had run.' } as const
  expect(await after('running', ran, ran)).toMatchObject([
    { toolCalls: [{ status: 'complete', result: 'It had run.' }] },
    { role: 'tool', toolCallId: 'call', content: 'It had run.' },
    { id: 'u' },
  ])
})

test('K8 a call that has its result keeps it', async () => {
  const [asking] = await after('complete', { kind: 'did-not-run' })
  expect(asking?.toolCalls).toMatchObject([{ status: 'complete' }])
})

test('K8 the error that a dying page left gives way to what a person found', async () => {
  const [asking] = await after('error', { kind: 'ran', answer: 'It had run.' })
  expect(asking?.toolCalls).toMatchObject([{ status: 'complete', result: 'It had run.' }])
})

test('K8 a call that nobody knows changes nothing', async () => {
  const memory = memoryWith('running')
  const before = memory.stored
  await reconcileToolCall(memory, 'other', { kind: 'did-not-run' }, environment)
  expect(memory.stored).toBe(before)
})
