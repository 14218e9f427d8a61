import type { Channel, Lifecycle } from '../core/environment.ts'
import { createObservableValue, type Observable } from '../core/observable-value.ts'
import type { ConnectionState } from './connection.ts'

/** What the tabs of one device tell each other about sync: which sessions they have open, and how the sender fares. */
export interface TabSignals {
  /** The sessions that are open in any tab, as far as heard. */
  readonly open: Observable<ReadonlySet<string>>
  /** Says which sessions this tab has open; the last word counts. */
  readonly setOpen: (sessionIds: ReadonlySet<string>) => void
  /**
   * Tells the other tabs what the sending tab knows of the connection. `behind`: the server has, or may have, what is not
   * fetched yet.
   */
  readonly tellConnection: (state: ConnectionState, behind: boolean) => void
  /** What another tab, the sending one, last told. */
  readonly onConnection: (listener: (state: ConnectionState, behind: boolean) => void) => void
  /** A tab came and asks the sending one for that. */
  readonly onAsked: (listener: () => void) => void
  /** Asks the sending tab to try again now. */
  readonly askRetry: () => void
  readonly onRetry: (listener: () => void) => void
  /** Forgets the tabs that did not answer since the last call, and asks who is there: a tab that crashed took no leave. */
  readonly callRoll: () => void
  readonly close: () => void
}

const STATES: readonly string[] = ['none', 'connecting', 'online', 'offline', 'needs-auth', 'error']

/** `lifecycle`: a page that is hidden for good, or kept in the back/forward cache, takes its leave at once. */
export function createTabSignals(channel: Channel, tab: string, lifecycle: Lifecycle): TabSignals {
  const byTab = new Map<string, ReadonlySet<string>>()
  /** Those of `byTab` that were not heard since they were asked. */
  let silent = new Set<string>()
  const open = createObservableValue<ReadonlySet<string>>(new Set())
  let mine: ReadonlySet<string> = new Set()
  let connectionListener: (state: ConnectionState, behind: boolean) => void = () => {}
  let retryListener: () => void = () => {}
  let askedListener: () => void = () => {}

  channel.listen((message) => {
    if (typeof message !== 'object' || message === null) return
    const { kind, tab: from, sessionIds, state, code, reason, behind } = message as Record<string, unknown>
    if (typeof from !== 'string') return
    silent.delete(from)
    if (kind === 'open' && Array.isArray(sessionIds)) {
      byTab.set(from, new Set(sessionIds.filter((id) => typeof id === 'string')))
      publish()
    } else if (kind === 'bye') {
      byTab.delete(from)
      publish()
    } else if (kind === 'who') {
      tellOpen()
      askedListener()
    } else if (kind === 'retry') {
      retryListener()
    } else if (kind === 'connection' && typeof state === 'string' && STATES.includes(state)) {
      const heard = { state, ...(typeof code === 'string' && { code }), ...(typeof reason === 'string' && { reason }) }
      connectionListener(heard as ConnectionState, behind !== false)
    }
  })
  channel.post({ kind: 'who', tab })
  const stops = [
    lifecycle.on('pagehide', () => channel.post({ kind: 'bye', tab })),
    lifecycle.on('pageshow', () => {
      tellOpen()
      channel.post({ kind: 'who', tab })
    }),
  ]

  return {
    open,
    setOpen(sessionIds) {
      mine = sessionIds
      tellOpen()
      publish()
    },
    tellConnection(state, behind) {
      channel.post({ kind: 'connection', tab, ...state, behind })
    },
    onConnection(listener) {
      connectionListener = listener
    },
    onAsked(listener) {
      askedListener = listener
    },
    askRetry() {
      channel.post({ kind: 'retry', tab })
    },
    onRetry(listener) {
      retryListener = listener
    },
    callRoll() {
      for (const each of silent) byTab.delete(each)
      publish()
      silent = new Set(byTab.keys())
      channel.post({ kind: 'who', tab })
    },
    close() {
      for (const stop of stops) stop()
      channel.post({ kind: 'bye', tab })
      channel.close()
    },
  }

  function tellOpen(): void {
    channel.post({ kind: 'open', tab, sessionIds: [...mine] })
  }

  function publish(): void {
    const all = new Set(mine)
    for (const sessionIds of byTab.values()) for (const id of sessionIds) all.add(id)
    const before = open.get()
    if (all.size !== before.size || [...all].some((id) => !before.has(id))) open.set(all)
  }
}
