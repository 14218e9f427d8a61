import type { Channel, Lifecycle, Platform, Timers } from './core/environment.ts'
import { createMemoryChannels } from './storage/memory-channel.ts'
import { createWebLocks } from './storage/web-locks.ts'

/** How long a frame is waited for: a page that goes to the background is never painted. */
const FRAME_WITHIN_MS = 100

/**
 * The browser as Rejoin's environment. What is missing is absent, or has a stand-in that reaches no further than this
 * page: no IndexedDB, no other tabs, no locks. Touches nothing until it is called, and works where there is no page at
 * all (a service worker, Node).
 */
export function browserEnvironment(): Platform {
  const memoryChannels = createMemoryChannels()
  const manager = lockManager()
  return {
    indexedDB: indexedDatabases(),
    locks: manager && createWebLocks(manager),
    openChannel: (name) => broadcastChannel(name) ?? memoryChannels(name),
    fetch: (input, init) => globalThis.fetch(input, init),
    get WebSocket() {
      return globalThis.WebSocket
    },
    now: () => Date.now(),
    random: () => Math.random(),
    newId,
    timers,
    lifecycle,
  }
}

const timers: Timers = {
  setTimeout: (run, ms) => globalThis.setTimeout(run, ms),
  clearTimeout: (id) => globalThis.clearTimeout(id as number),
  frame(run) {
    const pending: { frame?: number; timeout?: unknown } = {}
    const once = () => {
      timers.cancelFrame(pending)
      run()
    }
    if (typeof requestAnimationFrame === 'function') pending.frame = requestAnimationFrame(once)
    pending.timeout = timers.setTimeout(once, pending.frame === undefined ? 0 : FRAME_WITHIN_MS)
    return pending
  },
  cancelFrame(id) {
    if (id === undefined) return
    const { frame, timeout } = id as { frame?: number; timeout?: unknown }
    if (frame !== undefined) cancelAnimationFrame(frame)
    timers.clearTimeout(timeout)
  },
}

const lifecycle: Lifecycle = {
  online: () => typeof navigator === 'undefined' || navigator.onLine !== false,
  on(event, run) {
    if (event === 'visible' || event === 'hidden') {
      if (typeof document === 'undefined') return () => {}
      return listen(document, 'visibilitychange', () => {
        if (document.visibilityState === event) run()
      })
    }
    return typeof globalThis.addEventListener === 'function' ? listen(globalThis, event, run) : () => {}
  },
}

function listen(
  target: Pick<EventTarget, 'addEventListener' | 'removeEventListener'>,
  event: string,
  run: () => void,
): () => void {
  const listener = () => run()
  target.addEventListener(event, listener)
  return () => target.removeEventListener(event, listener)
}

/** The mere access throws where the site may not store anything, as in a sandboxed frame. */
function indexedDatabases(): IDBFactory | undefined {
  try {
    return globalThis.indexedDB ?? undefined
  } catch {
    return undefined
  }
}

/** A page of an opaque origin is given the manager, but no lock. */
function lockManager(): LockManager | undefined {
  return typeof navigator === 'undefined' || globalThis.origin === 'null' ? undefined : navigator.locks
}

function broadcastChannel(name: string): Channel | undefined {
  if (typeof BroadcastChannel === 'undefined') return undefined
  let channel: BroadcastChannel | undefined = new BroadcastChannel(name)
  // In Node, an open channel alone would keep the process alive.
  ;(channel as { unref?: () => void }).unref?.()
  return {
    post: (message) => channel?.postMessage(message),
    listen(listener) {
      if (channel) channel.onmessage = (event: MessageEvent) => listener(event.data)
    },
    close() {
      channel?.close()
      channel = undefined
    },
  }
}

/** `randomUUID` is only there on secure origins. Letters and digits first, so that it is a SafeId. */
function newId(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID()
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
