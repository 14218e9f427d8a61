import { afterEach, expect, test, vi } from 'vitest'
import { createListeners } from '../../../src/session/listeners.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

test('a listener that throws is reported as uncaught and hurts neither the others nor the caller', () => {
  const reports: (() => void)[] = []
  vi.stubGlobal('queueMicrotask', (report: () => void) => reports.push(report))
  const listeners = createListeners()
  const failure = new Error('listener')
  const heard: string[] = []
  listeners.add(() => {
    throw failure
  })
  listeners.add(() => heard.push('second'))
  listeners.call()
  expect(heard).toEqual(['second'])
  expect(reports).toHaveLength(1)
  expect(reports[0]).toThrow(failure)
})

test('one function added twice is called twice, and is taken away one by one', () => {
  const listeners = createListeners()
  let calls = 0
  const listener = () => {
    calls++
  }
  const stop = listeners.add(listener)
  listeners.add(listener)
  listeners.call()
  expect(calls).toBe(2)
  stop()
  stop()
  listeners.call()
  expect(calls).toBe(3)
})
