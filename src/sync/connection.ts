import { createObservableValue, type Observable } from '../core/observable-value.ts'
import type { RejoinErrorCode } from '../errors.ts'
import type { Common } from '../protocol/answer-fields.ts'
import type { Epoch } from '../protocol/identity.ts'
import type { Reply } from './http-client.ts'

export type ConnectionState =
  /** There is no server. */
  | { readonly state: 'none' }
  | { readonly state: 'connecting' }
  | { readonly state: 'online' }
  | { readonly state: 'offline'; readonly reason: string }
  /** The access token was refused; each try asks for it anew. */
  | { readonly state: 'needs-auth'; readonly reason: string }
  /** The server is not the one that this account syncs with; nothing is sent to it. */
  | ServerRefused

export interface ServerRefused {
  readonly state: 'error'
  /** `refused`: another account or another server answers. `server-behind`: its data went back without a restore. */
  readonly code: Extract<RejoinErrorCode, 'refused' | 'server-behind'>
  readonly reason: string
}

export interface Connection extends Observable<ConnectionState> {
  readonly set: (next: ConnectionState) => void
  /** Learns from a reply whether the server is there, and hands it on. */
  readonly hear: <T>(reply: Reply<T>) => Reply<T>
  /** The server's data went back in this epoch: nothing is exchanged before another one begins. */
  readonly endEpoch: (epoch: Epoch) => void
  readonly hasEnded: (epoch: Epoch) => boolean
}

/** `isCurrent`: false for an epoch that is not the one known; what this device has counts for nothing there yet (G9). */
export function createConnection(initial: ConnectionState, isCurrent: (epoch: Epoch) => boolean): Connection {
  const value = createObservableValue<ConnectionState>(initial)
  let ended: Epoch | undefined
  const set = (next: ConnectionState) => {
    const before = value.get()
    if (before.state === next.state && reasonOf(before) === reasonOf(next)) return
    value.set(next)
  }
  return {
    get: value.get,
    subscribe: value.subscribe,
    set,
    hear(reply) {
      if (value.get().state === 'error' || (reply.kind === 'unreachable' && reply.cancelled)) return reply
      if (reply.kind === 'unreachable') set({ state: 'offline', reason: reply.reason })
      else if (reply.kind === 'problem' && reply.status === 401) {
        set({ state: 'needs-auth', reason: reply.problem.message })
      } else if (reply.kind === 'answer' ? !isOfAnother(reply.body) : reply.status < 429) set({ state: 'online' })
      return reply
    },
    endEpoch(epoch) {
      ended = epoch
      set(SERVER_BEHIND)
    },
    hasEnded: (epoch) => epoch === ended,
  }

  function isOfAnother(body: unknown): boolean {
    const { epoch } = (body ?? {}) as Partial<Common>
    return epoch !== undefined && !isCurrent(epoch)
  }
}

/** In the same epoch: nothing is sent to it, and nothing taken, until it is restored as it should be, rule I5. */
export const SERVER_BEHIND: ServerRefused = {
  state: 'error',
  code: 'server-behind',
  reason: "The server's data went back without a restore: run `rejoin-server restore` with the backup.",
}

/** Why this server is not the one to sync with, or nothing. */
export function refuseServer(
  answer: Common,
  expected: { readonly account: string; readonly serverId?: string | undefined },
): ServerRefused | undefined {
  const refused = (reason: string): ServerRefused => ({ state: 'error', code: 'refused', reason })
  if (answer.account !== expected.account) {
    return refused(`The server answers for account ${answer.account}, not ${expected.account}: check the access token.`)
  }
  if (expected.serverId !== undefined && answer.server !== expected.serverId) {
    return refused(
      `This device syncs with server ${expected.serverId}, but ${answer.server} answered: check the URL, or use another realm.`,
    )
  }
  return undefined
}

function reasonOf(state: ConnectionState): string | undefined {
  return 'reason' in state ? state.reason : undefined
}
