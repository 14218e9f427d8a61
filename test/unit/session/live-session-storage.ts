import type {
  ClaimHandler,
  ClaimToRun,
  LiveSessionStorage,
  QueuedClaim,
} from '../../../src/contract/live-session-storage.ts'
import type { Confirmation, ConfirmationStatus, Snapshot } from '../../../src/contract/session-snapshot.ts'
import { RejoinError } from '../../../src/errors.ts'
import { createMemorySessionStorage, type MemorySessionStorage } from './memory-session-storage.ts'

/** One device in a world of one session store: it can be offline, and has any number of tabs. */
export interface LiveDevice {
  /** A tab's storage. */
  readonly tab: () => LiveSessionStorage
  readonly goOffline: () => void
  /** Dispatches what waits, and resolves when every claim that won was run. */
  readonly goOnline: () => Promise<void>
  readonly claims: () => readonly QueuedClaim[]
}

export interface LiveWorld {
  readonly stored: MemorySessionStorage
  readonly device: () => LiveDevice
  /** Somebody else decides: changes a status and raises the cursor. */
  readonly decide: (sessionId: string, token: string, status: ConfirmationStatus) => void
  /** Times that a session's snapshot was watched and not given up. */
  readonly watchers: () => number
}

/**
 * The reference of a live storage: all devices see the one stored snapshot at once, and a claim that is made offline
 * waits in its device's queue until the device is online, where the first one wins.
 */
export function createLiveWorld(): LiveWorld {
  const stored = createMemorySessionStorage()
  const watchers = new Set<{ sessionId: string; listener: () => void }>()

  function changed(sessionId: string): void {
    for (const each of [...watchers]) if (each.sessionId === sessionId) each.listener()
  }

  function write(sessionId: string, change: (snapshot: Snapshot) => Partial<Snapshot>): void {
    const before = stored.read(sessionId)
    if (!before) throw new Error(`no session ${sessionId}`)
    stored.corrupt(sessionId, JSON.stringify({ ...before, ...change(before), cursor: before.cursor + 1 }))
    changed(sessionId)
  }

  function decide(sessionId: string, token: string, status: ConfirmationStatus): void {
    write(sessionId, ({ confirmations }) => ({
      confirmations: confirmations.map((each) => (each.token === token ? { ...each, status } : each)),
    }))
  }

  function statusOf(sessionId: string, token: string): ConfirmationStatus | undefined {
    return stored.read(sessionId)?.confirmations.find((each) => each.token === token)?.status
  }

  function device(): LiveDevice {
    let online = true
    let queue: readonly QueuedClaim[] = []
    let sequence = 0
    const listeners = new Set<() => void>()
    const handlers: { sessionId: string; run: ClaimHandler }[] = []

    function setQueue(next: readonly QueuedClaim[]): void {
      queue = next
      for (const listener of [...listeners]) listener()
    }

    function put(claim: QueuedClaim): void {
      setQueue([...queue.filter(({ claimId }) => claimId !== claim.claimId), claim])
    }

    function drop(claim: QueuedClaim): void {
      setQueue(queue.filter(({ claimId }) => claimId !== claim.claimId))
    }

    function enqueue(sessionId: string, { token, toolCallId, status }: Confirmation): void {
      const want = status as ClaimToRun['want']
      if (queue.some((each) => each.token === token && each.want === want)) return
      setQueue(queue.filter((each) => each.token !== token))
      const claimId = `claim-${++sequence}`
      put({ sessionId, token, toolCallId, want, state: 'waiting', attempt: 0, claimId, deviceAt: 0 })
    }

    async function dispatch(claim: QueuedClaim): Promise<void> {
      const { sessionId, token, toolCallId, want, attempt, claimId } = claim
      if (statusOf(sessionId, token) !== 'pending') return drop(claim)
      decide(sessionId, token, want)
      const handler = handlers.find((each) => each.sessionId === sessionId)
      if (!handler) return put({ ...claim, state: 'won' })
      put({ ...claim, state: 'running' })
      try {
        const ran = await handler.run({ token, toolCallId, want, attempt, claimId })
        if (ran === 'ran') decide(sessionId, token, OUTCOMES[want])
        else decide(sessionId, token, 'pending')
        drop(claim)
      } catch {
        put({ ...claim, state: 'attention' })
      }
    }

    return {
      claims: () => queue,
      goOffline: () => {
        online = false
      },
      async goOnline() {
        online = true
        for (const claim of queue.filter(({ state }) => state === 'waiting')) await dispatch(claim)
      },
      tab: () => ({
        load: stored.load,
        async save(snapshot, expectedCursor, signal) {
          const before = stored.read(snapshot.sessionId)
          const claimed = snapshot.confirmations.find(
            ({ token, status }) =>
              status !== 'pending' && before?.confirmations.find((each) => each.token === token)?.status === 'pending',
          )
          if (claimed && !online) {
            enqueue(snapshot.sessionId, claimed)
            throw new RejoinError('claim-queued', 'The decision waits for the server.')
          }
          const saved = await stored.save(snapshot, expectedCursor, signal)
          if (saved) changed(snapshot.sessionId)
          return saved
        },
        async delete(sessionId, signal) {
          await stored.delete?.(sessionId, signal)
          changed(sessionId)
        },
        watch(sessionId, listener) {
          const own = { sessionId, listener }
          watchers.add(own)
          return () => watchers.delete(own)
        },
        claims: {
          get: () => queue,
          subscribe(listener) {
            listeners.add(listener)
            return () => listeners.delete(listener)
          },
          run(sessionId, run) {
            const own = { sessionId, run }
            handlers.push(own)
            return () => handlers.splice(handlers.indexOf(own), 1)
          },
          release: (sessionId, token) => decide(sessionId, token, 'pending'),
        },
      }),
    }
  }

  return { stored, device, decide, watchers: () => watchers.size }
}

const OUTCOMES = { approving: 'approved', rejecting: 'rejected', expiring: 'expired' } as const
