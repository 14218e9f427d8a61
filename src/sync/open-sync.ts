import { isOver } from '../core/enter-epoch.ts'
import type { Environment } from '../core/environment.ts'
import { createObservableValue, type Observable } from '../core/observable-value.ts'
import { MAX_LEASE_MS } from '../protocol/put-turn.ts'
import type { ClaimAuthority } from '../storage/claim-authority.ts'
import type { Names } from '../storage/names.ts'
import type { AccessToken } from './access-token.ts'
import { createRemoteChanges } from './apply-remote.ts'
import { createConnection, refuseServer } from './connection.ts'
import { CLAIM_TIMEOUT_MS, createClaimDispatch } from './dispatch-claims.ts'
import { type SyncEngine, startSyncEngine } from './engine.ts'
import { createExchange } from './exchange.ts'
import { createFirstLoad } from './first-load.ts'
import { createHttpClient } from './http-client.ts'
import { lead } from './lead.ts'
import type { Admission, LiveSockets, SocketPosition, Welcome } from './live-sockets.ts'
import { openLiveSockets } from './open-live-sockets.ts'
import { createUpdatePush } from './push-updates.ts'
import { createSnapshotPush } from './put-snapshot.ts'
import { createRemotePositions } from './remote-positions.ts'
import type { SyncContext } from './sync-context.ts'
import { createTabSignals } from './tab-signals.ts'

/** A tab that crashed is followed this long, or twice. */
const ROLL_CALL_MS = 60_000

export interface SyncOptions extends Omit<SyncContext, 'client' | 'connection'> {
  readonly names: Names
  readonly serverUrl: string
  readonly token: AccessToken
  readonly environment: Environment
}

export interface Sync {
  readonly authority: ClaimAuthority
  readonly connection: SyncContext['connection']
  /** The server has, or may have, what this device did not fetch yet. */
  readonly behind: Observable<boolean>
  /** The sessions that this tab has open get a live socket, held by whichever tab sends. */
  readonly setOpen: (sessionIds: ReadonlySet<string>) => void
  readonly retryNow: () => void
}

/** Sync of one tab: every tab may ask for claims and first loads, one of them sends. Ends with `signal`. */
export function openSync(options: SyncOptions): Sync {
  const { environment, names, signal } = options
  const meta = options.meta()
  const connection = createConnection({ state: 'connecting' }, (epoch) => epoch === (options.meta().epoch ?? epoch))
  const serverUrl = options.serverUrl.replace(/\/+$/, '')
  const client = createHttpClient({
    fetch: environment.fetch,
    timers: environment.timers,
    serverUrl,
    token: options.token,
    device: meta.device,
    label: meta.label,
    signal,
  })
  const context: SyncContext = { ...options, client, connection }
  const exchange = createExchange(context)
  const remote = createRemoteChanges(context, retryNow)
  const claims = createClaimDispatch(context, remote)
  const firstLoad = createFirstLoad(context, remote)
  const signals = createTabSignals(
    environment.openChannel(names.channel('sync')),
    environment.newId(),
    environment.lifecycle,
  )
  const sending = createObservableValue<{ engine: SyncEngine; sockets: LiveSockets } | undefined>(undefined)

  const behind = createObservableValue(true)

  let isTold = false
  connection.subscribe(() => {
    tellOthers()
    // What this tab saw alone may be over: the sending tab knows. What that one told is no news to it, and asking for
    // another try at each would leave no back-off.
    if (!sending.get() && !isTold && connection.get().state === 'offline') signals.askRetry()
  })
  signals.onConnection((state, isBehind) => {
    if (sending.get()) return
    if (isBehind) behind.set(true)
    isTold = true
    connection.set(state)
    isTold = false
    behind.set(isBehind)
  })
  signals.onAsked(tellOthers)
  signals.onRetry(() => {
    sending.get()?.engine.retryNow()
    tellOthers()
  })
  signal.addEventListener('abort', () => signals.close())
  lead(environment, names.lock('leader'), { start: startSending, signal, onError: options.onError })

  return { authority: createAuthority(), connection, behind, setOpen: signals.setOpen, retryNow }

  function tellOthers(): void {
    if (sending.get()) signals.tellConnection(connection.get(), behind.get())
  }

  function retryNow(): void {
    const engine = sending.get()?.engine
    if (engine) engine.retryNow()
    else signals.askRetry()
  }

  function startSending(): () => void {
    const sockets = openLiveSockets({
      serverUrl,
      device: meta.device,
      token: options.token,
      documents: options.documents,
      environment,
      onError: options.onError,
      position: async (sessionId) => (await options.database.read(sessionId)).row,
      onChanged: (sessionId, at) => {
        stored(sessionId, at).catch(options.onError)
      },
      onLost: () => sending.get()?.engine.lookSoon(),
      onRefused: (sessionId) => sending.get()?.engine.wake(sessionId),
      onUnknown: () => sending.get()?.engine.lookAround(),
      onTooLarge: (sessionId) => sending.get()?.engine.wake(sessionId),
      epoch: () => options.meta().epoch,
      onWelcome,
    })
    const updates = createUpdatePush(context, remote, sockets)
    const snapshots = createSnapshotPush(context, remote)
    const positions = createRemotePositions()
    behind.set(true)
    const stopBehind = positions.behind.subscribe(() => {
      behind.set(positions.behind.get())
      tellOthers()
    })
    const engine = startSyncEngine(context, { remote, claims, updates, snapshots, sockets, positions })
    sending.set({ engine, sockets })
    tellOthers()
    let accepted = false
    // No socket before this server was heard and accepted: it would be handed the messages of another account (G10).
    const follow = () => {
      const { state } = connection.get()
      accepted = state === 'online' || (accepted && state !== 'error')
      sockets.follow(accepted ? signals.open.get() : new Set())
    }
    const stopOpen = signals.open.subscribe(follow)
    const stopConnection = connection.subscribe(follow)
    follow()
    const stopRoll = callRoll()
    return () => {
      sending.set(undefined)
      stopRoll()
      behind.set(true)
      stopOpen()
      stopConnection()
      stopBehind()
      sockets.close()
      engine.stop()
    }
  }

  function callRoll(): () => void {
    let next: unknown
    const schedule = () => {
      next = environment.timers.setTimeout(() => {
        signals.callRoll()
        schedule()
      }, ROLL_CALL_MS)
    }
    schedule()
    return () => environment.timers.clearTimeout(next)
  }

  /** The same look at who speaks as at an HTTP answer. */
  function onWelcome(welcome: Welcome, since: number): Admission {
    const known = options.meta()
    const refused = refuseServer(welcome, known)
    if (!refused && welcome.epoch === known.epoch && welcome.head < since) connection.endEpoch(welcome.epoch)
    if (connection.hasEnded(welcome.epoch)) return { kind: 'refused' }
    if (refused) {
      connection.set(refused)
      return { kind: 'refused' }
    }
    if (connection.get().state === 'offline') sending.get()?.engine.retryNow()
    if (welcome.epoch === known.epoch) return { kind: 'admitted' }
    return { kind: 'another-epoch', settled: remote.hear(welcome) }
  }

  /** The socket has sent all updates up to `head`, and they are stored. */
  async function stored(sessionId: string, { incarnation, head, etag, epoch }: SocketPosition): Promise<void> {
    await options.database.transact(sessionId, 'relaxed', ({ row }) => {
      if (row?.incarnation !== incarnation || row.deleted || row.pulled >= head) return { result: undefined }
      if (epoch !== undefined && isOver(row, epoch)) return { result: undefined }
      return { change: { row: { ...row, confirmed: true, pulled: head } }, result: undefined }
    })
    sending.get()?.engine.moved(sessionId, etag, head)
  }

  function createAuthority(): ClaimAuthority {
    return {
      via() {
        const { state } = connection.get()
        if (state === 'offline' || state === 'needs-auth' || state === 'error') return 'offline'
        return environment.lifecycle.online() ? 'server' : 'offline'
      },
      claim: claims.ask,
      release: claims.release,
      clearDoubt: claims.clearDoubt,
      async takeTurn({ sessionId, incarnation, turnId, leaseMs }, turnSignal) {
        const body = { op: 'take' as const, incarnation, turnId, leaseMs: Math.min(leaseMs, MAX_LEASE_MS) }
        const bound = { timeoutMs: CLAIM_TIMEOUT_MS, signal: turnSignal }
        const reply = await exchange(sessionId, () => client.putTurn(sessionId, body, bound))
        return reply.kind === 'answer' && (await remote.hear(reply.body)) ? reply.body : 'unreachable'
      },
      firstLoad,
      received(sessionId, answer) {
        remote.receive(sessionId, answer).catch(options.onError)
      },
    }
  }
}
