import { expect, test } from 'vitest'
import * as Y from 'yjs'
import type { OpenDocument } from '../../../src/messages/open-document.ts'
import { openLiveSocket } from '../../../src/sync/live-socket.ts'
import type { LiveSocketsOptions } from '../../../src/sync/open-live-sockets.ts'
import { createTestClock } from '../messages/test-clock.ts'
import { createTestDevice } from './device.ts'

test('a session that the server does not know is looked for less and less often, and then by the poll alone', async () => {
  const clock = createTestClock()
  const { environment } = createTestDevice('laptop', undefined)
  const waits: number[] = []
  const timers = {
    ...clock.timers,
    setTimeout: (run: () => void, ms: number) => {
      if (run === options.onUnknown) waits.push(ms)
      return clock.timers.setTimeout(run, ms)
    },
  }
  let looks = 0
  const options = {
    serverUrl: 'http://127.0.0.1:9',
    environment: { ...environment, timers, random: () => 1 },
    documents: { open: async () => document() },
    position: async () => ({ pulled: 0, confirmed: false }),
    // As the engine does after its look at the feed.
    onUnknown: () => {
      looks++
      socket.retryNow()
    },
    onError: (error: unknown) => expect.unreachable(String(error)),
  } as unknown as LiveSocketsOptions
  const socket = openLiveSocket('s1', options)
  for (let second = 0; second < 600; second++) await clock.advance(1000)
  expect(waits).toEqual([2000, 4000, 8000, 16_000, 20_000, 20_000])
  expect(looks).toBe(6)
  socket.close()
})

function document(): OpenDocument {
  return {
    doc: new Y.Doc(),
    incarnation: 'i1',
    ended: new AbortController().signal,
    addServerOrigin: () => () => {},
  } as unknown as OpenDocument
}
