import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type ReportedTest, TestReport } from '../../../scripts/test-report.mjs'

let folder: string
let printed: string[]

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'rejoin-report-'))
  printed = []
  vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line))
  vi.spyOn(console, 'error').mockImplementation(() => {})
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true, force: true })
})

interface Result {
  readonly state: 'passed' | 'failed' | 'skipped' | 'pending'
  readonly errors?: readonly Error[]
  readonly note?: string
}

function moduleOf(tests: Record<string, Result>, errors: { file?: Error; suite?: Error } = {}) {
  const found = Object.entries(tests).map(([fullName, result]) => ({
    fullName,
    result: () => result,
    diagnostic: () => ({ duration: 12.4 }),
  }))
  const suites = errors.suite ? [{ fullName: 'a suite', errors: () => [errors.suite] }] : []
  return {
    relativeModuleId: 'test/a.test.ts',
    project: { name: 'chromium (chromium)' },
    errors: () => (errors.file ? [errors.file] : []),
    children: { allTests: () => found, allSuites: () => suites },
  }
}

function reportOf(modules: readonly unknown[], unhandled: readonly Error[] = [], options?: { narrowed: boolean }) {
  const file = path.join(folder, 'reports', 'tests.json')
  const report = new TestReport(file, options)
  report.onTestRunEnd(modules, unhandled)
  report.finish()
  const tests = JSON.parse(readFileSync(file, 'utf8')) as ReportedTest[]
  return { ok: report.ok, tests, last: printed.at(-1) }
}

test('every test is written with its name, file, state, environment and time', () => {
  const { ok, tests, last } = reportOf([moduleOf({ 'G1 one wins': { state: 'passed' } })])
  expect(tests).toEqual([
    { name: 'G1 one wins', file: 'test/a.test.ts', state: 'passed', environment: 'chromium', durationMs: 12 },
  ])
  expect(last).toBe('1 passed, 0 failed')
  expect(ok).toBe(true)
})

test('a skipped test is counted and says why', () => {
  const { last, tests } = reportOf([moduleOf({ a: { state: 'passed' }, b: { state: 'skipped', note: 'no Postgres' } })])
  expect(printed).toContain('skipped: b: no Postgres')
  expect(tests[1]).toMatchObject({ name: 'b', state: 'skipped', reason: 'no Postgres' })
  expect(last).toBe('1 passed, 0 failed, 1 skipped')
})

test('what a name pattern leaves out is not skipped', () => {
  const modules = [
    moduleOf({ a: { state: 'passed' }, b: { state: 'skipped' }, c: { state: 'skipped', note: 'no Postgres' } }),
  ]
  const { tests, last } = reportOf(modules, [], { narrowed: true })
  expect(tests.map(({ name }) => name)).toEqual(['a', 'c'])
  expect(last).toBe('1 passed, 0 failed, 1 skipped')
})

test('no test is skipped in a way that cannot say why', () => {
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file))
  const mute = files.filter((file) =>
    /\b(test|it|describe)\.(skip|todo)\b/.test(readFileSync(path.join('test', file), 'utf8')),
  )
  expect(mute).toEqual([])
})

test.each([
  ['a failed test', moduleOf({ a: { state: 'passed' }, b: { state: 'failed', errors: [new Error('no')] } })],
  ['a test that did not finish', moduleOf({ a: { state: 'passed' }, b: { state: 'pending' } })],
  ['a file that does not load', moduleOf({ a: { state: 'passed' } }, { file: new Error('no') })],
  ['a hook that throws', moduleOf({ a: { state: 'passed' } }, { suite: new Error('no') })],
])('%s fails the run', (_, module) => {
  const { ok, last } = reportOf([module])
  expect(last).toBe('1 passed, 1 failed')
  expect(ok).toBe(false)
})

test('an unhandled error fails the run', () => {
  const { ok, last } = reportOf([moduleOf({ a: { state: 'passed' } })], [new Error('nobody waited')])
  expect(last).toBe('1 passed, 1 failed')
  expect(ok).toBe(false)
})

test('a run in which no test passed is not a success', () => {
  expect(reportOf([])).toMatchObject({ ok: false, last: '0 passed, 0 failed' })
  expect(reportOf([moduleOf({ a: { state: 'skipped' } })]).ok).toBe(false)
})
