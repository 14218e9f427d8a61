import 'fake-indexeddb/auto'
import { IDBFactory } from 'fake-indexeddb'
import { type Environment, type OpenRejoinOptions, openRejoin, type Rejoin } from 'rejoin'
import { WebSocket } from 'ws'
import { createMemoryChannels } from '../../../src/storage/memory-channel.ts'
import { createMemoryLocks } from '../../../src/storage/memory-locks.ts'

type LifecycleEvent = Parameters<Environment['lifecycle']['on']>[0]

/** A browser profile: its tabs share storage, locks and channels, and one network that can be cut. */
export interface TestDevice {
  readonly environment: Environment
  readonly open: (options?: Partial<OpenRejoinOptions>) => Promise<Rejoin>
  /** Cuts the network: requests fail, sockets end, the platform says so. */
  readonly goOffline: () => void
  readonly goOnline: () => void
  /** Requests whose address has this in it reach the server, their answers never come back. */
  readonly loseReplies: (part: string | undefined) => void
  readonly errors: unknown[]
  /** Closes every tab. */
  readonly close: () => Promise<void>
}

export function createTestDevice(label: string, serverUrl: string | undefined): TestDevice {
  const indexedDB = new IDBFactory()
  const locks = createMemoryLocks()
  const openChannel = createMemoryChannels()
  const listeners = new Set<{ readonly event: LifecycleEvent; readonly run: () => void }>()
  const sockets = new Set<WebSocket>()
  const tabs: Rejoin[] = []
  const errors: unknown[] = []
  let online = true
  let losing: string | undefined
  let ids = 0

  class SwitchedSocket extends WebSocket {
    constructor(url: string, protocols?: string[]) {
      super(online ? url : 'ws://127.0.0.1:9', protocols)
      sockets.add(this)
      this.on('close', () => sockets.delete(this))
    }
  }

  const environment: Environment = {
    indexedDB,
    locks,
    openChannel,
    async fetch(input, init) {
      if (!online) throw new TypeError('no network')
      const response = await fetch(input, init)
      if (losing && String(input).includes(losing)) throw new TypeError('the reply was lost')
      return response
    },
    WebSocket: SwitchedSocket as unknown as typeof globalThis.WebSocket,
    now: () => Date.now(),
    random: () => 0.05,
    newId: () => `${label}-${++ids}-${Math.random().toString(36).slice(2, 8)}`,
    timers: {
      setTimeout: (run, ms) => setTimeout(run, ms),
      clearTimeout: (id) => clearTimeout(id as NodeJS.Timeout),
      frame: (run) => setTimeout(run, 1),
      cancelFrame: (id) => clearTimeout(id as NodeJS.Timeout),
    },
    lifecycle: {
      online: () => online,
      on(event, run) {
        const listener = { event, run }
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
  }

  const happen = (event: LifecycleEvent) => {
    for (const listener of [...listeners]) if (listener.event === event) listener.run()
  }

  return {
    environment,
    errors,
    async open(options = {}) {
      const rejoin = await openRejoin({
        account: 'test',
        realm: label,
        label,
        ...(serverUrl !== undefined && { serverUrl }),
        environment,
        onError: (error) => errors.push(error),
        ...options,
      })
      tabs.push(rejoin)
      return rejoin
    },
    goOffline() {
      online = false
      for (const socket of sockets) socket.terminate()
      happen('offline')
    },
    goOnline() {
      online = true
      happen('online')
    },
    loseReplies(part) {
      losing = part
    },
    async close() {
      await Promise.all(tabs.map((tab) => tab.close()))
    },
  }
}
