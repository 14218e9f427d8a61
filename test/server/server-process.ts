import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const at = (file: string) => fileURLToPath(new URL(`../../sync-server/${file}`, import.meta.url))

export interface ServerProcess {
  readonly url: string
  /** Everything that it printed. */
  readonly output: () => string
  /** Resolves with the exit code; `null` for a kill. */
  readonly end: (signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT') => Promise<number | null>
}

export async function buildServer(): Promise<void> {
  await build({ configFile: at('vite.config.ts'), logLevel: 'error' })
}

/** Starts the command as people do; resolves when it says that it listens. */
export async function startProcess(args: readonly string[], env: Record<string, string> = {}): Promise<ServerProcess> {
  const { child, output } = spawnServer(args, env)
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', () => {
      const [, address] = /listening on (\S+)\n/.exec(output()) ?? []
      if (address) resolve(address)
    })
    child.on('exit', (code) => reject(new Error(`ended with ${code}: ${output()}`)))
  })
  return {
    url,
    output,
    end: async (signal) => {
      const ended = once(child, 'exit')
      child.kill(signal)
      const [code] = (await ended) as [number | null]
      return code
    },
  }
}

/** Runs the command to its end. */
export async function runProcess(args: readonly string[], env: Record<string, string> = {}) {
  const { child, output } = spawnServer(args, env)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output: output() }
}

function spawnServer(args: readonly string[], env: Record<string, string>) {
  const child: ChildProcess = spawn(process.execPath, [at('bin/rejoin-server.js'), ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (data: Buffer) => {
      text += data.toString()
    })
  }
  return { child, output: () => text }
}
