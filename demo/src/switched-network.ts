import type { Environment, Lifecycle } from 'rejoin'
import { type Cuttable, switchedWebSocket } from './switched-socket.ts'

/** A device's network with a switch on it, as the part of Rejoin's environment that stands for it. */
export interface SwitchedNetwork {
  readonly environment: Pick<Environment, 'fetch' | 'WebSocket' | 'lifecycle'>
  readonly get: () => boolean
  readonly subscribe: (listener: () => void) => () => void
  readonly turn: (on: boolean) => void
}

export function createSwitchedNetwork(
  base: Pick<Environment, 'fetch' | 'WebSocket' | 'lifecycle'>,
  startsOn = true,
): SwitchedNetwork {
  let on = startsOn
  let cable = new AbortController()
  const sockets = new Set<Cuttable>()
  const listeners = new Set<() => void>()
  const lifecycleListeners = { online: new Set<() => void>(), offline: new Set<() => void>() }

  const switchedFetch: typeof fetch = async (input, init) => {
    if (!on) throw new TypeError('The network of this device is switched off.')
    const signals = [cable.signal, ...(init?.signal ? [init.signal] : [])]
    return base.fetch(input, { ...init, signal: AbortSignal.any(signals) })
  }

  const lifecycle: Lifecycle = {
    online: () => on && base.lifecycle.online(),
    on: (event, run) => {
      const stop = base.lifecycle.on(event, run)
      if (event !== 'online' && event !== 'offline') return stop
      const ours = () => run()
      lifecycleListeners[event].add(ours)
      return () => {
        lifecycleListeners[event].delete(ours)
        stop()
      }
    },
  }

  return {
    environment: {
      fetch: switchedFetch,
      WebSocket: switchedWebSocket(base.WebSocket, {
        isOn: () => on,
        opened: (socket) => sockets.add(socket),
        closed: (socket) => sockets.delete(socket),
      }),
      lifecycle,
    },
    get: () => on,
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    turn: (next) => {
      if (next === on) return
      on = next
      if (!on) {
        cable.abort(new TypeError('The network of this device was switched off.'))
        cable = new AbortController()
        for (const socket of [...sockets]) socket.cut()
      }
      for (const listener of [...lifecycleListeners[on ? 'online' : 'offline'], ...listeners]) listener()
    },
  }
}
