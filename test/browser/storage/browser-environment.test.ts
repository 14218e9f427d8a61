import { afterEach, expect, test } from 'vitest'
import { browserEnvironment } from '../../../src/browser-environment.ts'
import { createWebLocks } from '../../../src/storage/web-locks.ts'
import { testChannels } from '../../unit/storage/channel-conformance.ts'
import { testLocks } from '../../unit/storage/locks-conformance.ts'

testLocks('Web Locks', () => createWebLocks(navigator.locks))
testChannels('BroadcastChannel', browserEnvironment().openChannel)

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

test('the page’s events arrive until they are no longer listened to', () => {
  const { lifecycle } = browserEnvironment()
  const log: string[] = []
  for (const event of ['online', 'offline', 'pagehide', 'pageshow', 'visible', 'hidden'] as const) {
    stops.push(lifecycle.on(event, () => log.push(event)))
  }
  for (const event of ['online', 'offline', 'pagehide', 'pageshow']) window.dispatchEvent(new Event(event))
  document.dispatchEvent(new Event('visibilitychange'))
  const expected = ['online', 'offline', 'pagehide', 'pageshow', document.visibilityState]
  expect(log).toEqual(expected)
  for (const stop of stops.splice(0)) stop()
  for (const event of ['online', 'offline', 'pagehide', 'pageshow']) window.dispatchEvent(new Event(event))
  document.dispatchEvent(new Event('visibilitychange'))
  expect(log).toEqual(expected)
})

test('what the platform has is used', () => {
  const environment = browserEnvironment()
  expect(environment.indexedDB).toBe(indexedDB)
  expect(environment.WebSocket).toBe(WebSocket)
  expect(environment.lifecycle.online()).toBe(navigator.onLine)
})

test('a frame comes before the next paint', async () => {
  const { timers } = browserEnvironment()
  await new Promise<void>((resolve) => {
    timers.frame(resolve)
  })
})
