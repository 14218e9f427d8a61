import { expect, test, vi } from 'vitest'
import type { DatabaseEvent } from '../../../src/storage/database.ts'
import { createMemoryChannels } from '../../../src/storage/memory-channel.ts'
import { createTabEvents } from '../../../src/storage/tab-events.ts'
import { bytes } from './sample-rows.ts'

const updates = {
  kind: 'updates',
  sessionId: 's1',
  incarnation: 'i1',
  origin: 'local',
  firstSeq: 1,
  bytes: [bytes(1)],
} as const

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['a text', 'session'],
  ['an unknown kind', { kind: 'presence', sessionId: 's1' }],
  ['a session without an id', { kind: 'session' }],
  ['a session whose id is no text', { kind: 'session', sessionId: 7 }],
  ['updates without bytes', { ...updates, bytes: undefined }],
  ['updates whose bytes are numbers', { ...updates, bytes: [[1, 2]] }],
  ['updates at no seq', { ...updates, firstSeq: 0 }],
  ['updates of no known origin', { ...updates, origin: 'elsewhere' }],
])('a message from another tab that is %s tells nothing', async (_, message) => {
  const open = createMemoryChannels()
  const events = createTabEvents(() => open('rows'))
  const heard: DatabaseEvent[] = []
  events.subscribe((event) => heard.push(event))
  const sender = open('rows')
  sender.post(message)
  sender.post({ kind: 'meta', extra: 'of a newer version' })
  await new Promise<void>((resolve) => events.subscribe(() => resolve()))
  expect(heard).toEqual([{ kind: 'meta', remote: true, extra: 'of a newer version' }])
})

test('a listener that throws is the page’s to see, and the others hear of the commit all the same', () => {
  const error = new Error('in a listener')
  const surfaced = vi.spyOn(Promise, 'reject').mockReturnValue(undefined as never)
  const events = createTabEvents()
  let heard = 0
  events.subscribe(() => {
    throw error
  })
  events.subscribe(() => heard++)
  expect(() => events.committed({ kind: 'meta' })).not.toThrow()
  expect(surfaced).toHaveBeenCalledWith(error)
  surfaced.mockRestore()
  expect(heard).toBe(1)
})

test('one listener may subscribe twice, and each subscription ends alone', () => {
  const events = createTabEvents()
  let heard = 0
  const listener = () => heard++
  const stop = events.subscribe(listener)
  events.subscribe(listener)
  events.committed({ kind: 'meta' })
  stop()
  stop()
  events.committed({ kind: 'meta' })
  expect(heard).toBe(3)
})

test('a closed tab neither hears nor resumes', async () => {
  const open = createMemoryChannels()
  let opened = 0
  const events = createTabEvents(() => {
    opened++
    return open('rows')
  })
  let heard = 0
  events.subscribe(() => heard++)
  events.close()
  events.resume()
  open('rows').post({ kind: 'meta' })
  await Promise.resolve()
  expect([opened, heard]).toEqual([1, 0])
})
