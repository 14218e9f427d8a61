import { expect, test } from 'vitest'
import { brokenCores } from './schedules/broken-cores.ts'
import { runAlone } from './schedules/run-alone.ts'
import { runSchedule } from './schedules/run-schedule.ts'
import type { Core } from './schedules/world.ts'

/*
 * Two devices with two pages each, the server's real rules, and a network that loses and delays requests and answers.
 * Pages save, edit, propose, decide, die; persons say what became of a run that broke off. After every step what is on
 * disk is held to the rules; in the end everything heals and is compared.
 *
 * SEED=17 replays one schedule and prints it, RUNS=20000 looks longer, STEPS=200 looks further.
 */
const STEPS = Number(process.env.STEPS ?? 80)
const RUNS = Number(process.env.RUNS ?? 400)
const BLOCKS = 4
const TIMEOUT_MS = 600_000

const rules = 'R1 to R9, K1 to K9, T1, I2, G1 to G6 and F19 hold over random schedules'

if (process.env.SEED !== undefined) {
  test(`${rules}, seed ${process.env.SEED}`, { timeout: TIMEOUT_MS }, () => {
    const { violation, log } = runSchedule(Number(process.env.SEED), STEPS)
    console.log(log.join('\n'))
    expect(violation).toBeUndefined()
  })
} else {
  for (let block = 0; block < BLOCKS; block++) {
    const first = Math.round((block * RUNS) / BLOCKS) + 1
    const last = Math.round(((block + 1) * RUNS) / BLOCKS)
    test(`${rules}, seeds ${first} to ${last}`, { timeout: TIMEOUT_MS }, () => {
      for (let seed = first; seed <= last; seed++) {
        const { violation, log } = runSchedule(seed, STEPS)
        if (violation !== undefined) expect.unreachable(report(seed, violation, log))
      }
    })
  }

  test('R4 a device alone never conflicts with itself', { timeout: TIMEOUT_MS }, () => {
    for (let seed = 1; seed <= RUNS; seed++) {
      const log = runAlone(seed, STEPS)
      const conflict = log.findIndex((line) => /, expected .*: (conflict|recorded)$/.test(line))
      if (conflict >= 0)
        expect.unreachable(
          `seed ${seed}\n${log
            .slice(0, conflict + 1)
            .slice(-40)
            .join('\n')}`,
        )
    }
  })

  test.each(Object.entries(brokenCores))('random schedules find that %s', { timeout: TIMEOUT_MS }, (_, core) => {
    expect(firstViolation(core, 300)).toBeDefined()
  })
}

function firstViolation(core: Core, runs: number): string | undefined {
  for (let seed = 1; seed <= runs; seed++) {
    const { violation } = runSchedule(seed, STEPS, core)
    if (violation !== undefined) return violation
  }
  return undefined
}

function report(seed: number, violation: string, log: readonly string[]): string {
  const replay = `SEED=${seed} STEPS=${STEPS} npx vitest run --project node test/unit/core/schedules.test.ts`
  return `${violation}\nreplay: ${replay}\n${log.slice(-40).join('\n')}`
}
