import { afterEach, expect, test, vi } from 'vitest'
import { browserEnvironment } from '../../../src/browser-environment.ts'
import { isSafeId } from '../../../src/contract/safe-id.ts'
import { namesOf } from '../../../src/storage/names.ts'
import { openDatabase } from '../../../src/storage/open-database.ts'
import { testChannels } from './channel-conformance.ts'
import { sampleRow } from './sample-rows.ts'

afterEach(() => vi.unstubAllGlobals())

test('F66 without a browser everything has a stand-in, and a database in memory works', async () => {
  const environment = browserEnvironment()
  expect(environment.indexedDB).toBeUndefined()
  expect(environment.lifecycle.online()).toBe(true)
  for (const event of ['online', 'visible', 'pagehide'] as const) environment.lifecycle.on(event, () => {})()
  const problems: unknown[] = []
  const database = await openDatabase({
    environment,
    names: namesOf('acme', 'default'),
    identity: { account: 'acme', realm: 'default', label: 'Server' },
    onProblem: (problem) => problems.push(problem?.code),
  })
  await database.transact('s1', 'strict', () => ({ change: { row: sampleRow('s1') }, result: undefined }))
  expect((await database.read('s1')).row).toEqual(sampleRow('s1'))
  expect([database.persistent, problems]).toEqual([false, ['storage-unavailable']])
  await database.close()
})

test('F66 in Node an open channel does not keep the process alive', () => {
  const unref = vi.fn()
  vi.stubGlobal(
    'BroadcastChannel',
    class {
      unref = unref
    },
  )
  browserEnvironment().openChannel('x')
  expect(unref).toHaveBeenCalledOnce()
})

test('F32 an indexedDB whose mere access throws is as good as none', () => {
  vi.stubGlobal('indexedDB', undefined)
  Object.defineProperty(globalThis, 'indexedDB', {
    configurable: true,
    get() {
      throw new DOMException('The operation is insecure.', 'SecurityError')
    },
  })
  expect(browserEnvironment().indexedDB).toBeUndefined()
})

test('F32 a page of an opaque origin, whose Web Locks always refuse, has no locks', () => {
  vi.stubGlobal('origin', 'null')
  vi.stubGlobal('navigator', {
    locks: { request: () => Promise.reject(new DOMException('Not here.', 'SecurityError')) },
  })
  expect(browserEnvironment().locks).toBeUndefined()
})

test('ids are fresh and safe, also on pages that are not secure', () => {
  const environment = browserEnvironment()
  const secure = Array.from({ length: 100 }, environment.newId)
  vi.stubGlobal('crypto', { getRandomValues: crypto.getRandomValues.bind(crypto) })
  const ids = [...secure, ...Array.from({ length: 100 }, environment.newId)]
  expect(ids.every(isSafeId)).toBe(true)
  expect(new Set(ids).size).toBe(200)
})

test('a frame is waited for once, and a cancelled one never comes', async () => {
  const { timers } = browserEnvironment()
  const log: string[] = []
  timers.cancelFrame(timers.frame(() => log.push('cancelled')))
  await new Promise<void>((resolve) => {
    timers.frame(() => {
      log.push('frame')
      resolve()
    })
  })
  expect(log).toEqual(['frame'])
})

test('a page that is never painted gets its frames all the same', async () => {
  const cancelled: number[] = []
  vi.stubGlobal('requestAnimationFrame', () => 5)
  vi.stubGlobal('cancelAnimationFrame', (id: number) => cancelled.push(id))
  await new Promise<void>((resolve) => {
    browserEnvironment().timers.frame(resolve)
  })
  expect(cancelled).toEqual([5])
})

testChannels('page', browserEnvironment().openChannel)
