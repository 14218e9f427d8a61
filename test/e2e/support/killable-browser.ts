import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type BrowserContext, chromium } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { BROWSER_ARGS, findBrowser } from '../../../scripts/find-browser.mjs'

/** A browser of its own with a profile on disk, that can die and be started again on the same profile. */
export interface KillableBrowser {
  /** Its one profile; another object after each start. */
  readonly start: () => Promise<BrowserContext>
  /** SIGKILL to all of its processes. */
  readonly kill: () => Promise<void>
}

const START_WITHIN_MS = 20_000
const ADDRESS = /DevTools listening on (ws:\S+)/

/** For the rest of the test. */
export async function createKillableBrowser(): Promise<KillableBrowser> {
  const executable = await findBrowser()
  const profile = await mkdtemp(path.join(tmpdir(), 'rejoin-e2e-profile-'))
  let running: ChildProcess | undefined

  async function kill(): Promise<void> {
    const dying = running
    running = undefined
    if (dying?.pid === undefined) return
    const gone = once(dying, 'exit')
    process.kill(-dying.pid, 'SIGKILL')
    await gone
  }

  onTestFinished(async () => {
    await kill()
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  })
  return {
    kill,
    start: async () => {
      const args = ['--headless', '--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank']
      // A group of its own, so that its helper processes die with it.
      const started = spawn(executable, [...BROWSER_ARGS, ...args], {
        stdio: ['ignore', 'ignore', 'pipe'],
        detached: true,
      })
      running = started
      const killWithUs = () => started.pid !== undefined && process.kill(-started.pid, 'SIGKILL')
      process.once('exit', killWithUs)
      started.once('exit', () => process.off('exit', killWithUs))
      const connected = await chromium.connectOverCDP(await addressOf(started))
      const [context] = connected.contexts()
      if (!context) throw new Error('The browser has no profile.')
      return context
    },
  }
}

function addressOf(started: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const timer = setTimeout(() => reject(new Error(`The browser did not start. It said:\n${said}`)), START_WITHIN_MS)
    started.stderr?.on('data', (bytes) => {
      said += bytes
      const address = ADDRESS.exec(said)?.[1]
      if (address === undefined) return
      clearTimeout(timer)
      resolve(address)
    })
  })
}
