import { type ChatConfig, createChatController } from '@agentskit/core'
import { expect, test } from 'vitest'
import { createManualAdapter, settled } from './manual-adapter.ts'
import { deferred } from './recording-memory.ts'

/** A controller after one answered turn, in either regime. */
async function afterOneTurn(config: Partial<ChatConfig> = {}) {
  const adapter = createManualAdapter()
  const controller = createChatController({ adapter, ...config })
  await answered(controller.send('question'), adapter, 'answer')
  const texts = () => controller.getState().messages.map((message) => `${message.role}: ${message.content}`)
  return { adapter, controller, texts }
}

async function answered(turn: unknown, adapter: ReturnType<typeof createManualAdapter>, text: string) {
  await settled()
  await adapter.sources.at(-1)?.text(text)
  await adapter.sources.at(-1)?.end()
  await turn
}

for (const regime of ['every-change', 'finalized'] as const) {
  test(`M8 stop aborts the source, completes the message, does so once, and what comes late is inert (${regime})`, async () => {
    const adapter = createManualAdapter()
    const controller = createChatController({ adapter, regime })
    const sent = controller.send('hi')
    await adapter.sources[0]?.text('part')
    controller.stop()
    controller.stop()
    expect(adapter.sources[0]?.aborts).toBe(1)
    await adapter.sources[0]?.text('late')
    await sent
    expect(controller.getState()).toMatchObject({ status: 'idle' })
    expect(controller.getState().messages.at(-1)).toMatchObject({ content: 'part', status: 'complete' })
  })

  test(`M8 the result of a tool that was running when the chat stopped is inert (${regime})`, async () => {
    const result = deferred<string>()
    const adapter = createManualAdapter()
    const tools = [{ name: 'lookup', execute: () => result.promise }]
    const controller = createChatController({ adapter, tools, regime })
    const sent = controller.send('hi')
    void adapter.sources[0]?.toolCall('call-1', 'lookup')
    await settled()
    controller.stop()
    result.resolve('late')
    await adapter.sources[0]?.end()
    await sent
    expect(controller.getState().messages.at(-1)?.toolCalls?.[0]).toMatchObject({ status: 'running' })
    expect(adapter.sources).toHaveLength(1)
  })

  test(`M8 a turn stopped before its source exists never makes one (${regime})`, async () => {
    const adapter = createManualAdapter()
    const controller = createChatController({ adapter, regime })
    controller.subscribe(() => controller.getState().status === 'streaming' && controller.stop())
    await controller.send('hi')
    expect(adapter.sources).toHaveLength(0)
  })

  test(`M9 P11 retry and regenerate replace the answer by one with a new id (${regime})`, async () => {
    const { adapter, controller, texts } = await afterOneTurn({ regime })
    const first = controller.getState().messages.at(-1)?.id
    await answered(controller.retry(), adapter, 'second')
    const second = controller.getState().messages.at(-1)?.id
    await answered(controller.regenerate(), adapter, 'third')
    expect(texts()).toEqual(['user: question', 'assistant: third'])
    expect(new Set([first, second, controller.getState().messages.at(-1)?.id]).size).toBe(3)
  })

  test(`M9 regenerate of an earlier answer drops what follows it (${regime})`, async () => {
    const { adapter, controller, texts } = await afterOneTurn({ regime })
    const answer = controller.getState().messages.at(-1)?.id
    await answered(controller.send('more'), adapter, 'more')
    await answered(controller.regenerate(answer), adapter, 'anew')
    expect(texts()).toEqual(['user: question', 'assistant: anew'])
  })

  test(`M9 P12 an edited question drops what follows and is answered anew, unless told not to (${regime})`, async () => {
    const { adapter, controller, texts } = await afterOneTurn({ regime })
    const question = controller.getState().messages[0]?.id ?? ''
    await answered(controller.edit(question, 'other'), adapter, 'anew')
    expect(texts()).toEqual(['user: other', 'assistant: anew'])
    await controller.edit(question, 'third', { regenerate: false })
    expect(texts()).toEqual(['user: third'])
  })

  test(`M9 an answer is edited in place, and an unknown id or a lone question changes nothing (${regime})`, async () => {
    const { adapter, controller, texts } = await afterOneTurn({ regime })
    await controller.edit(controller.getState().messages[1]?.id ?? '', 'mended')
    expect(texts()).toEqual(['user: question', 'assistant: mended'])
    const before = controller.getState()
    await controller.edit('nobody', 'x')
    await controller.regenerate('nobody')
    controller.setMessages([...before.messages.slice(0, 1)])
    await controller.retry()
    expect(adapter.sources).toHaveLength(1)
  })

  test(`H14 a tool loop keeps the order call, result, next answer (${regime})`, async () => {
    const adapter = createManualAdapter()
    const tools = [{ name: 'lookup', execute: async (args: Record<string, unknown>) => ({ found: args.id }) }]
    const controller = createChatController({ adapter, tools, regime })
    const sent = controller.send('look it up')
    await adapter.sources[0]?.toolCall('call-1', 'lookup', { id: 7 })
    await adapter.sources[0]?.end()
    await settled()
    expect(adapter.sources[1]?.request.messages.map((message) => message.role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ])
    await answered(sent, adapter, 'here it is')
    expect(controller.getState().messages.map((message) => message.role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ])
    expect(controller.getState().messages[1]?.toolCalls?.[0]).toMatchObject({
      status: 'complete',
      result: '{"found":7}',
    })
    expect(controller.getState().messages[2]).toMatchObject({ toolCallId: 'call-1', content: '{"found":7}' })
  })

  test(`M10 a call that asks for confirmation stops the turn until it is decided (${regime})`, async () => {
    const adapter = createManualAdapter()
    const tools = [{ name: 'refund', requiresConfirmation: true, execute: async () => 'done' }]
    const controller = createChatController({ adapter, tools, regime })
    const sent = controller.send('refund me')
    await adapter.sources[0]?.toolCall('call-1', 'refund')
    await adapter.sources[0]?.end()
    await sent
    expect(controller.getState().status).toBe('idle')
    expect(adapter.sources).toHaveLength(1)
    await answered(controller.deny('call-1', 'not today'), adapter, 'As you wish.')
    expect(controller.getState().messages.at(-2)).toMatchObject({ role: 'tool', content: 'not today' })
    expect(controller.getState().messages[1]?.toolCalls?.[0]).toMatchObject({ status: 'error', error: 'not today' })
  })

  test(`M9 retry does nothing after a tool loop, whose answer does not follow the question (${regime})`, async () => {
    const { adapter, controller, texts } = await afterOneTurn({ regime })
    const [question, answer] = controller.getState().messages
    if (!question || !answer) throw new Error('The turn is missing.')
    controller.setMessages([question, answer, { ...answer, id: 'second', content: 'second' }])
    await controller.retry()
    expect(adapter.sources).toHaveLength(1)
    expect(texts()).toHaveLength(3)
  })

  test(`M8 M9 one answer streams at a time: what begins a turn ends the one before (${regime})`, async () => {
    const { adapter, controller, texts } = await afterOneTurn({ regime })
    const ends = [controller.send('one')]
    await adapter.sources[1]?.text('first ')
    ends.push(controller.send('two'))
    expect(adapter.sources[1]?.aborts).toBe(1)
    await adapter.sources[2]?.text('second ')
    ends.push(controller.regenerate())
    expect(adapter.sources[2]?.aborts).toBe(1)
    await adapter.sources[3]?.text('third ')
    ends.push(controller.edit(controller.getState().messages.at(-2)?.id ?? '', 'three'))
    expect(adapter.sources[3]?.aborts).toBe(1)
    for (const source of adapter.sources.slice(1, 4)) await source.text('late')
    await answered(undefined, adapter, 'fourth')
    await Promise.all(ends)
    expect(texts()).toEqual([
      'user: question',
      'assistant: answer',
      'user: one',
      'assistant: first ',
      'user: three',
      'assistant: fourth',
    ])
    expect(controller.getState().messages.map(({ status }) => status)).not.toContain('streaming')
  })

  test(`M9 nothing but blanks is not sent (${regime})`, async () => {
    const { adapter, controller, texts } = await afterOneTurn({ regime })
    await controller.send('  ')
    expect(adapter.sources).toHaveLength(1)
    expect(texts()).toHaveLength(2)
  })

  test(`H12 H19 each piece of a text puts the whole text, whatever was made of the message (${regime})`, async () => {
    const adapter = createManualAdapter()
    const controller = createChatController({ adapter, regime })
    const sent = controller.send('hi')
    await adapter.sources[0]?.text('one ')
    controller.setMessages(controller.getState().messages.map((each) => ({ ...each, content: '' })))
    await answered(sent, adapter, 'two')
    expect(controller.getState().messages.at(-1)?.content).toBe('one two')
  })

  test(`M8 the outcome of an approved action counts, also when the chat was stopped meanwhile (${regime})`, async () => {
    const result = deferred<string>()
    const adapter = createManualAdapter()
    const tools = [{ name: 'refund', requiresConfirmation: true, execute: () => result.promise }]
    const controller = createChatController({ adapter, tools, regime })
    await controller.proposeToolCall({ id: 'call-1', name: 'refund', args: {} })
    const approved = controller.approve('call-1')
    controller.stop()
    result.resolve('refunded')
    await answered(approved, adapter, 'Done.')
    expect(controller.getState().messages[0]?.toolCalls?.[0]).toMatchObject({ status: 'complete', result: 'refunded' })
  })

  test(`M10 with two calls waiting, the model goes on after the second decision (${regime})`, async () => {
    const adapter = createManualAdapter()
    const tools = [{ name: 'refund', requiresConfirmation: true, execute: async () => 'done' }]
    const controller = createChatController({ adapter, tools, regime })
    const sent = controller.send('refund both')
    await adapter.sources[0]?.toolCall('call-1', 'refund')
    await adapter.sources[0]?.toolCall('call-2', 'refund')
    await adapter.sources[0]?.end()
    await sent
    await controller.approve('call-1')
    expect(adapter.sources).toHaveLength(1)
    await answered(controller.deny('call-2'), adapter, 'One of them.')
    expect(adapter.sources).toHaveLength(2)
  })
}
