import { type ChatConfig, createChatController } from '@agentskit/core'
import { expect, test } from 'vitest'
import { createManualAdapter, settled } from './manual-adapter.ts'
import { createRecordingMemory } from './recording-memory.ts'

function withRefunds(config: Partial<ChatConfig> = {}) {
  const ran: Record<string, unknown>[] = []
  const adapter = createManualAdapter()
  const tools = [
    { name: 'lookup', execute: async () => 'found' },
    {
      name: 'refund',
      requiresConfirmation: true,
      execute: async (args: Record<string, unknown>) => {
        ran.push(args)
        return 'refunded'
      },
    },
  ]
  return { adapter, ran, controller: createChatController({ adapter, tools, ...config }) }
}

const refund = { name: 'refund', requiresConfirmation: true, execute: async () => 'refunded' }
const proposal = { id: 'app-1', name: 'refund', args: { amount: 5 } }

test('M10 a known id answers with its call and ignores new arguments; two askers share one proposal', async () => {
  const { controller } = withRefunds()
  const [first, second] = await Promise.all([
    controller.proposeToolCall(proposal),
    controller.proposeToolCall({ ...proposal, args: { amount: 500 } }),
  ])
  expect(second).toBe(first)
  expect(await controller.proposeToolCall({ ...proposal, args: { amount: 9 } })).toEqual(first)
  expect(controller.getState().messages).toHaveLength(1)
  expect(first).toMatchObject({ status: 'requires_confirmation', args: { amount: 5 } })
})

test('M10 arguments are taken as they were at the proposal', async () => {
  const { controller, ran, adapter } = withRefunds()
  const args = { amount: 5 }
  await controller.proposeToolCall({ ...proposal, args })
  args.amount = 500
  const approved = controller.approve('app-1')
  await settled()
  await adapter.sources[0]?.end()
  await approved
  expect(ran).toEqual([{ amount: 5 }])
})

test('M10 C2 two approvals run the tool once', async () => {
  const { controller, ran, adapter } = withRefunds()
  await controller.proposeToolCall(proposal)
  const both = Promise.all([controller.approve('app-1'), controller.approve('app-1')])
  await settled()
  await adapter.sources[0]?.end()
  await both
  await controller.approve('app-1')
  expect(ran).toHaveLength(1)
})

test('H13 under every-change a loaded call is approved; one that is not there is silently nothing', async () => {
  const source = withRefunds()
  await source.controller.proposeToolCall(proposal)
  const memory = createRecordingMemory({ load: () => [...source.controller.getState().messages] })
  const { controller, ran, adapter } = withRefunds({ memory, regime: 'every-change' })
  await settled()
  await controller.approve('app-9')
  const approved = controller.approve('app-1')
  await settled()
  await adapter.sources[0]?.end()
  await approved
  expect(ran).toHaveLength(1)
})

test('M10 a failing hook turns the call into an error and rejects the proposal', async () => {
  const { controller } = withRefunds({ onToolCall: () => Promise.reject(new Error('hook')) })
  await expect(controller.proposeToolCall(proposal)).rejects.toThrow('hook')
  expect(controller.getState().messages[0]?.toolCalls?.[0]).toMatchObject({ status: 'error', error: 'hook' })
})

test('M10 the configuration of the moment decides whether an approved call runs', async () => {
  const { controller, ran, adapter } = withRefunds()
  await controller.proposeToolCall(proposal)
  controller.updateConfig({ authorizeToolCall: ({ phase }) => phase !== 'execute' })
  const approved = controller.approve('app-1')
  await settled()
  await adapter.sources[0]?.end()
  await approved
  expect(ran).toEqual([])
  expect(controller.getState().messages[0]?.toolCalls?.[0]?.status).toBe('error')
})

test('C4 C12 what cannot be proposed is refused with its code', async () => {
  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic
  const codes: [Partial<typeof proposal>, string][] = [
    [{ name: 'unknown' }, 'AK_TOOL_NOT_FOUND'],
    [{ name: 'lookup' }, 'AK_CONFIG_INVALID'],
    [{ id: 'not an id' }, 'AK_CONFIG_INVALID'],
    [{ args: cyclic as { amount: number } }, 'AK_TOOL_INVALID_INPUT'],
    [{ args: { amount: -1 } }, 'AK_TOOL_INVALID_INPUT'],
    [{ args: { amount: 1000 } }, 'AK_TOOL_FORBIDDEN'],
  ]
  const { controller } = withRefunds({
    validateToolArgs: (_tool, args) => Number(args.amount) > 0,
    authorizeToolCall: ({ call }) => Number(call.args.amount) < 100,
  })
  for (const [change, code] of codes) {
    await expect(controller.proposeToolCall({ ...proposal, ...change })).rejects.toMatchObject({ code })
  }
  expect(controller.getState().messages).toEqual([])
})

test('M9 clear disposes the tools and empties the conversation', async () => {
  const disposed: string[] = []
  const tool = { ...refund, dispose: () => void disposed.push('refund') }
  const { controller } = withRefunds({ tools: [tool] })
  await controller.proposeToolCall(proposal)
  await controller.clear()
  expect(controller.getState().messages).toEqual([])
  expect(disposed).toEqual(['refund'])
})
