import { RejoinError } from '../errors.ts'
import type { ClaimAuthority } from '../storage/claim-authority.ts'
import type { RemoteChanges } from './apply-remote.ts'
import { createExchange } from './exchange.ts'
import type { SyncContext } from './sync-context.ts'

/** A session that this device does not have yet is asked for at most this long, rules I4 and K10. */
const FIRST_LOAD_MS = 5000
/** The server is not asked again so soon for a session that it does not have; the feed tells when it has. */
const ABSENT_MS = 10_000

/**
 * The first load of a session that is not on this device, shared by everyone who waits for it, rule I4. Resolves when the
 * session is here, when the server has none, and when it cannot be known offline.
 *
 * The returned function rejects with `not-loaded` if the feed lists the session and the server did not answer in time.
 */
export function createFirstLoad(context: SyncContext, remote: RemoteChanges): ClaimAuthority['firstLoad'] {
  const { database, client, connection, environment } = context
  const exchange = createExchange(context)
  const loading = new Map<string, Promise<void>>()
  const absentSince = new Map<string, number>()
  return (sessionId, signal) => {
    const load = loading.get(sessionId) ?? share(sessionId)
    // Whoever gives up does not take it from the others.
    return signal ? unlessAborted(load, signal) : load
  }

  function share(sessionId: string): Promise<void> {
    const load = firstLoad(sessionId).finally(() => loading.delete(sessionId))
    loading.set(sessionId, load)
    return load
  }

  async function firstLoad(sessionId: string): Promise<void> {
    const { row, deletes } = await database.read(sessionId)
    if (row?.local || row?.deleted || deletes.length > 0) return
    const { state } = connection.get()
    if (state === 'none' || state === 'error') return
    const absent = absentSince.get(sessionId)
    if (absent !== undefined && !row?.confirmed && environment.now() - absent < ABSENT_MS) return
    // Known not to be reachable: what is here is all there is to start from, and what comes later merges.
    if (state === 'offline' || state === 'needs-auth' || !environment.lifecycle.online()) return
    if (await ask(sessionId)) return
    // The feed lists it and nothing of it is here: answering without it would let the chat start over its history.
    if (row?.confirmed && row.acked === 0 && row.pulled === 0) {
      throw new RejoinError('not-loaded', 'The session is on the server, which cannot be reached.', {
        hint: 'Try again when there is a connection.',
      })
    }
  }

  async function ask(sessionId: string): Promise<boolean> {
    const bound = new AbortController()
    const timer = environment.timers.setTimeout(() => bound.abort(new Error('timed out')), FIRST_LOAD_MS)
    const signal = AbortSignal.any([bound.signal, context.signal])
    try {
      const reply = await exchange(sessionId, () => client.getSession(sessionId, signal))
      if (reply.kind === 'unreachable') return false
      if (reply.kind === 'problem') {
        const absent = reply.status === 404 || reply.status === 410
        if (absent) absentSince.set(sessionId, environment.now())
        return absent
      }
      return (await unlessAborted(remote.receive(sessionId, reply.body, { mayBegin: true }), signal)) !== undefined
    } catch (error) {
      if (bound.signal.aborted) return false
      throw error
    } finally {
      environment.timers.clearTimeout(timer)
    }
  }
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    stop = () => signal.removeEventListener('abort', abort)
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    stop()
  }
}
