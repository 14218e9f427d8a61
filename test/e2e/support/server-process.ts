import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { freePort } from './free-port.ts'

/** A server in a process of its own, on a port and a file that stay the same when it is started again. */
export interface ServerProcess {
  readonly url: string
  readonly port: number
  readonly start: () => Promise<void>
  /** SIGKILL: it gets no chance to finish anything. Resolves when the process is gone. */
  readonly kill: () => Promise<void>
  /** SIGTERM, and its exit code. */
  readonly stop: () => Promise<number | null>
  /** All that it has printed, over all starts. */
  readonly output: () => string
}

export interface ServerOptions {
  /** The script to run. */
  readonly script: string
  readonly args?: (place: Place) => readonly string[]
  readonly env?: (place: Place) => Readonly<Record<string, string>>
}

interface Place {
  readonly port: number
  /** An empty folder of its own. */
  readonly folder: string
}

const START_WITHIN_MS = 15_000
const STOP_WITHIN_MS = 10_000

/** Starts a server for the rest of the test; with the test end its process and its files. */
export async function startProcess({ script, args, env }: ServerOptions): Promise<ServerProcess> {
  const folder = await mkdtemp(path.join(tmpdir(), 'rejoin-e2e-'))
  const place: Place = { port: await freePort(), folder }
  const url = `http://127.0.0.1:${place.port}`
  let child: ChildProcess | undefined
  let output = ''

  async function start(): Promise<void> {
    const started = spawn(process.execPath, [script, ...(args?.(place) ?? [])], {
      env: { ...process.env, ...env?.(place) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = started
    const killWithUs = () => started.kill('SIGKILL')
    process.once('exit', killWithUs)
    started.once('exit', () => process.off('exit', killWithUs))
    await saysItListens(started)
  }

  function saysItListens(started: ChildProcess): Promise<void> {
    return new Promise((resolve, reject) => {
      const said = output.length
      const fail = (why: string) => reject(new Error(`The server ${why}. It said:\n${output.slice(said)}`))
      const timer = setTimeout(() => fail(`did not listen within ${START_WITHIN_MS} ms`), START_WITHIN_MS)
      const hear = (bytes: Buffer) => {
        output += bytes
        if (!output.slice(said).includes(url)) return
        clearTimeout(timer)
        resolve()
      }
      started.stdout?.on('data', hear)
      started.stderr?.on('data', hear)
      started.once('exit', (code) => {
        clearTimeout(timer)
        fail(`ended with code ${code}`)
      })
    })
  }

  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const ending = child
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return ending?.exitCode ?? null
    ending.kill(signal)
    await once(ending, 'exit', { signal: AbortSignal.timeout(STOP_WITHIN_MS) })
    return ending.exitCode
  }

  onTestFinished(async ({ task }) => {
    await end('SIGKILL')
    await rm(folder, { recursive: true, force: true })
    if (task.result?.state === 'fail' && output !== '') console.log(`The server said:\n${output}`)
  })
  await start()
  return {
    url,
    port: place.port,
    start,
    kill: async () => {
      await end('SIGKILL')
    },
    stop: () => end('SIGTERM'),
    output: () => output,
  }
}
