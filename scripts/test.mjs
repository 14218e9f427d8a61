import { setTimeout } from 'node:timers/promises'
import { parseCLI, startVitest } from 'vitest/node'
import { findBrowser } from './find-browser.mjs'
import { TestReport } from './test-report.mjs'

// Runs every test of every runner, or those that the arguments name (files, `--project`, `-t`), and ends with one plain
// line: `N passed, N failed`. The same results are in `.reports/tests.json`.

const CLOSE_WITHIN_MS = 30_000

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
const projects = [options.project ?? ['node', 'chromium', 'e2e']].flat()
const start = performance.now()
const report = new TestReport('.reports/tests.json', { narrowed: options.testNamePattern !== undefined })

try {
  if (projects.some((name) => name !== 'node')) console.log(`Browser: ${await findBrowser()}`)
  const vitest = await startVitest('test', filter, { ...options, watch: false, reporters: ['default', report] })
  const closed = vitest.close().then(() => true)
  if (!(await Promise.race([closed, setTimeout(CLOSE_WITHIN_MS, false)]))) throw new Error('The runner does not close.')
} catch (error) {
  console.error(error.message)
  report.addError('the run', error)
}
console.log(`tests: ${((performance.now() - start) / 1000).toFixed(0)} s`)
report.finish()
process.exit(report.ok ? 0 : 1)
