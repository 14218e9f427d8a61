import { buildMessage, type Message, type ToolCall } from '@agentskit/core'
import { expect, test } from 'vitest'
import { reconcileCall } from '../../../demo/src/reconcile-call.ts'

const running: ToolCall = { id: 'app-1', name: 'refund', args: {}, status: 'running' }
const messages: Message[] = [
  buildMessage({ role: 'user', content: 'refund me' }),
  buildMessage({ role: 'assistant', content: '', toolCalls: [{ ...running, id: 'app-0' }, running] }),
  buildMessage({ role: 'user', content: 'and then' }),
]
const calls = (list: readonly Message[]) => list.flatMap(({ toolCalls = [] }) => toolCalls.map(({ status }) => status))

test('F4 what did not run waits for a decision again, and nothing else changes', () => {
  const after = reconcileCall(messages, { toolCallId: 'app-1', want: 'approving', ran: false })
  expect(calls(after)).toEqual(['running', 'requires_confirmation'])
  expect(after.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  expect(after[0]).toBe(messages[0])
})

test('H14 what ran has its result right after the call, once', () => {
  const run = { toolCallId: 'app-1', want: 'approving', ran: true } as const
  const after = reconcileCall(reconcileCall(messages, run), run)
  expect(calls(after)).toEqual(['running', 'complete'])
  expect(after.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  expect(after[2]).toMatchObject({ toolCallId: 'app-1' })
})

test('a denial that broke off ends as a denial, and an unknown call changes nothing', () => {
  expect(calls(reconcileCall(messages, { toolCallId: 'app-1', want: 'rejecting', ran: true }))[1]).toBe('error')
  expect(reconcileCall(messages, { toolCallId: 'app-9', want: 'approving', ran: true })).toEqual(messages)
})
