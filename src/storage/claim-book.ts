import type { ClaimHandler, LiveClaims, QueuedClaim } from '../contract/live-session-storage.ts'
import { isLive } from '../core/claim-rows.ts'
import type { ClaimRow } from '../core/device-session.ts'
import { createObservableValue } from '../core/observable-value.ts'
import type { LiveSessionIndex, SessionIndex } from './session-index.ts'

export interface ClaimBook extends LiveClaims {
  /** Who runs the session's won claims in this page: the session's own handler, else the account-wide one. */
  readonly handlerOf: (sessionId: string) => ClaimHandler | undefined
  readonly attend: (sessionId: string) => () => void
  /** True while a session layer that says so, as ours does, has the session open in this page, rule K5. */
  readonly isOurs: (sessionId: string) => boolean
  /** Registers a handler for all sessions that have none of their own. Returns the way to stop. */
  readonly runAny: (handler: ClaimHandler) => () => void
  readonly onHandlers: (listener: () => void) => () => void
}

/** The unfinished claims of all sessions, and who may run them here. */
export function createClaimBook(
  index: LiveSessionIndex,
  giveBack: Pick<Required<LiveClaims>, 'release' | 'interrupt'>,
): ClaimBook {
  const queue = createObservableValue<readonly QueuedClaim[]>([])
  const handlers = createObservableValue<readonly { sessionId?: string; handler: ClaimHandler }[]>([])
  const attended = new Set<{ readonly sessionId: string }>()
  // It ends with the index.
  index.subscribe(() => queue.set(keepReference(queue.get(), queuedClaims(index.get()))))

  return {
    get: queue.get,
    subscribe: queue.subscribe,
    ...giveBack,
    run: (sessionId, handler) => register({ sessionId, handler }),
    runAny: (handler) => register({ handler }),
    onHandlers: handlers.subscribe,
    attend(sessionId) {
      const entry = { sessionId }
      attended.add(entry)
      return () => attended.delete(entry)
    },
    isOurs: (sessionId) => [...attended].some((each) => each.sessionId === sessionId),
    handlerOf(sessionId) {
      const all = handlers.get()
      const own = all.find((each) => each.sessionId === sessionId)
      return (own ?? all.find((each) => each.sessionId === undefined))?.handler
    },
  }

  function register(entry: { sessionId?: string; handler: ClaimHandler }): () => void {
    handlers.set([...handlers.get(), entry])
    return () => handlers.set(handlers.get().filter((each) => each !== entry))
  }
}

function queuedClaims(index: SessionIndex): readonly QueuedClaim[] {
  return [...index.values()].flatMap(({ claims }) => claims.filter(isLive).map(toQueuedClaim))
}

function toQueuedClaim(row: ClaimRow): QueuedClaim {
  const { sessionId, token, toolCallId, want, attempt, claimId, deviceAt } = row
  return { sessionId, token, toolCallId, want, attempt, claimId, deviceAt, state: row.state as QueuedClaim['state'] }
}

function keepReference(before: readonly QueuedClaim[], after: readonly QueuedClaim[]): readonly QueuedClaim[] {
  const same =
    before.length === after.length &&
    after.every((claim, at) => before[at]?.claimId === claim.claimId && before[at]?.state === claim.state)
  return same ? before : after
}
