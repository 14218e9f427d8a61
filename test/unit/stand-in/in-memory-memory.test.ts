import { buildMessage, createInMemoryMemory, deserializeMessages, serializeMessages } from '@agentskit/core'
import { expect, test } from 'vitest'

const hello = buildMessage({ role: 'user', content: 'hello' })

test('M1 an empty memory loads nothing, a saved one loads the same, each time in an array of its own', async () => {
  const memory = createInMemoryMemory()
  expect(await memory.load()).toEqual([])
  await memory.save([hello])
  const first = await memory.load()
  first.push(hello)
  expect(await memory.load()).toEqual([hello])
  await memory.clear?.()
  expect(await memory.load()).toEqual([])
})

test('M2 an aborted signal refuses load, save and clear, and nothing changes', async () => {
  const memory = createInMemoryMemory([hello])
  const options = { signal: AbortSignal.abort(new Error('left')) }
  await expect(memory.load(options)).rejects.toThrow('left')
  await expect(memory.save([], options)).rejects.toThrow('left')
  await expect(memory.clear?.(options)).rejects.toThrow('left')
  expect(await memory.load()).toEqual([hello])
})

test('M3 a serialized message has no undefined members, and comes back with its date', () => {
  expect('metadata' in hello).toBe(true)
  const record = serializeMessages([hello])
  expect(Object.keys(record.messages[0] ?? {})).not.toContain('metadata')
  expect(deserializeMessages(record)).toEqual([hello])
  expect(deserializeMessages(undefined)).toEqual([])
})

test('M5 cyclic metadata cannot be serialized', () => {
  const metadata: Record<string, unknown> = {}
  metadata.self = metadata
  expect(() => serializeMessages([{ ...hello, metadata }])).toThrow(TypeError)
})
