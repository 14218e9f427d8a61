import { fileURLToPath } from 'node:url'
import type { BrowserContext } from 'playwright-core'
import { type Device, openDevice } from './device.ts'
import { createEffectCounter, type EffectCounter } from './effect-counter.ts'
import { hostPage } from './page-host.ts'
import { type ServerProcess, startProcess } from './server-process.ts'

const SERVER = fileURLToPath(new URL('../../../sync-server/bin/rejoin-server.js', import.meta.url))

/** What the devices of a test have around them: a server with a file of its own, and the world that refunds change. */
export interface Stage {
  readonly server: ServerProcess
  readonly counter: EffectCounter
  readonly openDevice: (label: string, context?: BrowserContext) => Promise<Device>
}

/** For the rest of the test. */
export async function openStage(): Promise<Stage> {
  const counter = createEffectCounter()
  const page = await hostPage()
  const server = await startRejoinServer({ origin: new URL(page).origin })
  return {
    server,
    counter,
    openDevice: (label, context) => openDevice({ label, counter, page, server, ...(context && { context }) }),
  }
}

/** Devices that know of no server. */
export async function openStageWithoutServer(): Promise<Omit<Stage, 'server'>> {
  const counter = createEffectCounter()
  const page = await hostPage()
  return { counter, openDevice: (label) => openDevice({ label, counter, page }) }
}

export interface RejoinServerOptions {
  /** Of the pages that may ask. */
  readonly origin?: string
  readonly jwtSecret?: string
}

/** The server as people run it, on a SQLite file. */
export function startRejoinServer({ origin, jwtSecret }: RejoinServerOptions = {}): Promise<ServerProcess> {
  return startProcess({
    script: SERVER,
    args: ({ port, folder }) => [
      ...['--port', String(port), '--data', `${folder}/sync.sqlite`],
      ...(origin === undefined ? [] : ['--origin', origin]),
      ...(jwtSecret === undefined ? [] : ['--jwt-secret', jwtSecret]),
    ],
  })
}
