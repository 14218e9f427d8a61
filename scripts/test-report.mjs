import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/**
 * A vitest reporter that keeps one entry per test over all runners and counts them. What goes wrong outside of a test (a
 * file that does not load, a hook, an unhandled error) is a failed entry of its own, so that the count cannot look
 * better than the run.
 */
export class TestReport {
  #file
  #narrowed
  #tests = []

  /** `narrowed`: the run has a name pattern, and what the pattern leaves out is no part of it. */
  constructor(file, { narrowed = false } = {}) {
    this.#file = file
    this.#narrowed = narrowed
  }

  get ok() {
    return this.#count('passed') > 0 && this.#count('failed') === 0
  }

  onTestRunEnd(modules, unhandledErrors) {
    for (const module of modules) this.#addModule(module)
    for (const error of unhandledErrors) this.addError('unhandled error', error)
  }

  addError(name, error) {
    this.#add({ name, state: 'failed', error: describe(error) })
  }

  /** Writes the file and prints the last lines of a run: why tests were skipped, then the count. */
  finish() {
    mkdirSync(path.dirname(this.#file), { recursive: true })
    writeFileSync(this.#file, `${JSON.stringify(this.#tests, null, 2)}\n`)
    for (const { name, state, reason } of this.#tests)
      if (state === 'skipped') console.log(`skipped: ${name}: ${reason}`)
    if (this.#tests.length === 0) console.error('No test ran.')
    const skipped = this.#count('skipped')
    const counts = `${this.#count('passed')} passed, ${this.#count('failed')} failed`
    console.log(skipped > 0 ? `${counts}, ${skipped} skipped` : counts)
  }

  #count(state) {
    return this.#tests.filter((test) => test.state === state).length
  }

  #add({ name, file = '', state, environment = '', durationMs = 0, error, reason }) {
    const test = { name, file, state, environment, durationMs: Math.round(durationMs) }
    this.#tests.push({ ...test, ...(error && { error }), ...(reason && { reason }) })
  }

  #addModule(module) {
    const file = module.relativeModuleId
    // A project that runs in a browser is called `name (browser)`.
    const environment = module.project.name.replace(/ \(.*\)$/, '')
    const fail = (name, error) => this.#add({ name, file, environment, state: 'failed', error })

    for (const error of module.errors()) fail(file, describe(error))
    for (const suite of module.children.allSuites()) {
      for (const error of suite.errors()) fail(suite.fullName, describe(error))
    }
    for (const test of module.children.allTests()) {
      const result = test.result()
      const name = test.fullName
      if (result.state === 'pending') {
        fail(name, 'The test did not finish.')
        continue
      }
      const { state, note } = result
      const skipped = state === 'skipped'
      if (skipped && !note && this.#narrowed) continue
      const error = result.errors?.map(describe).join('\n\n')
      const reason = skipped ? (note ?? 'what it needs failed') : undefined
      this.#add({ name, file, environment, state, durationMs: test.diagnostic()?.duration, error, reason })
    }
  }
}

function describe(error) {
  return error.stack ?? error.message ?? String(error)
}
