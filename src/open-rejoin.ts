import { browserEnvironment } from './browser-environment.ts'
import type { ChatMemory } from './contract/chat-memory.ts'
import type { ClaimHandler, LiveClaims, LiveSessionStorage } from './contract/live-session-storage.ts'
import { isSafeId } from './contract/safe-id.ts'
import { raiseAttention, withdrawClaim } from './core/claim-lifecycle.ts'
import { liveClaim } from './core/claim-rows.ts'
import type { ClaimRow, MetaRow } from './core/device-session.ts'
import type { Environment, Platform } from './core/environment.ts'
import { createObservableValue, type Observable } from './core/observable-value.ts'
import { isRejoinError, RejoinError } from './errors.ts'
import { createMessageStore } from './messages/message-store.ts'
import { reconcileToolCall } from './messages/reconcile-tool-call.ts'
import type { SessionMessages } from './messages/session-messages.ts'
import { createToolCalls } from './messages/tool-calls.ts'
import { createChannelLocks } from './storage/channel-locks.ts'
import type { ClaimAuthority } from './storage/claim-authority.ts'
import { createClaimBook } from './storage/claim-book.ts'
import { runWonClaims } from './storage/claim-runner.ts'
import type { Database } from './storage/database.ts'
import { createDecidingTabs } from './storage/deciding-tabs.ts'
import { namesOf } from './storage/names.ts'
import { openDatabase } from './storage/open-database.ts'
import { createRunningClaims, type RunningClaims } from './storage/running-claims.ts'
import { createSessionIndex, type LiveSessionIndex, type SessionIndex } from './storage/session-index.ts'
import { createSessionStorage } from './storage/session-storage.ts'
import type { AccessToken } from './sync/access-token.ts'
import { type AttentionActions, createAttentionActions } from './sync/attention.ts'
import { type AttentionItem, createAttentionList } from './sync/attention-items.ts'
import { type ClaimInfo, claimInfos } from './sync/claim-infos.ts'
import { localAuthority } from './sync/local-authority.ts'
import { openSync, type Sync } from './sync/open-sync.ts'
import { type SessionSummary, sessionSummaries } from './sync/session-summaries.ts'
import { createStatus, type RejoinStatus } from './sync/status.ts'

/** So many sessions keep a live socket per tab: the ones used last. */
const MAX_OPEN_SESSIONS = 8
const MAX_LABEL_LENGTH = 128

export interface OpenRejoinOptions {
  /** The workspace that the data belongs to, 1 to 256 characters; a server that answers for another is refused. */
  readonly account: string
  /** A stable name for this place, not a URL: a chat that starts local can be synced later. Default `default`. */
  readonly realm?: string
  /** What other devices show of this one, at most 128 characters. Default `This device`. */
  readonly label?: string
  /** Of the sync server. Absent: everything stays on this device. */
  readonly serverUrl?: string
  /** The access token for the server, or the way to get one; asked before every request. */
  readonly token?: AccessToken
  /** Ends everything: the same as `close()`. */
  readonly signal?: AbortSignal
  /** Parts of the world to use instead of the browser's, for tests and simulations. */
  readonly environment?: Partial<Platform>
  /** Hears of failures that no caller waits for. */
  readonly onError?: (error: unknown) => void
}

export interface Rejoin {
  /** Session metadata by compare-and-set: hand it to `resumeChatSession`. */
  readonly storage: LiveSessionStorage
  /** The messages of a session: hand it to the chat's `memory`. One object per tab and session. */
  readonly memory: (sessionId: string) => ChatMemory
  readonly messages: (sessionId: string) => SessionMessages
  readonly sessions: Observable<readonly SessionSummary[]>
  readonly claims: Observable<readonly ClaimInfo[]> & {
    /** Runs claims that were queued and won later, of sessions that no session object here has open. Returns the way to stop. */
    readonly run: (handler: ClaimHandler) => () => void
    /** Takes a queued click back. False: it may have been sent already. */
    readonly withdraw: (claimId: string) => Promise<boolean>
  }
  readonly attention: Observable<readonly AttentionItem[]> & AttentionActions
  readonly status: Observable<RejoinStatus>
  /** Tries to sync now instead of at the next back-off. */
  readonly retryNow: () => void
  /** Ends everything that this Rejoin started; what was acknowledged stays. */
  readonly close: () => Promise<void>
}

/**
 * Opens the sessions of an account on this device. Without `serverUrl` everything works in all tabs of this browser;
 * with it, on all devices. Where the browser gives no storage, it works in memory and the status says so.
 *
 * @throws RejoinError `refused` for an account or realm that is no name, or a `serverUrl` that is no http address, `storage-blocked` while an old tab keeps the
 * database from being upgraded, `closed` when `signal` aborted.
 */
export async function openRejoin(options: OpenRejoinOptions): Promise<Rejoin> {
  const platform: Platform = { ...browserEnvironment(), ...options.environment }
  const names = namesOf(options.account, options.realm ?? 'default')
  if (options.serverUrl !== undefined) requireHttpUrl(options.serverUrl)
  const lifetime = new AbortController()
  const { signal } = lifetime
  const end = () => lifetime.abort(new RejoinError('closed', 'This Rejoin is closed.'))
  if (options.signal?.aborted) throw new RejoinError('closed', 'The signal aborted before Rejoin was open.')
  options.signal?.addEventListener('abort', end, { once: true, signal })
  const onError = (error: unknown) => {
    if (!signal.aborted && !isRejoinError(error, 'closed')) options.onError?.(error)
  }
  const degraded = createObservableValue<string | undefined>(undefined)

  const database = await openDatabase({
    environment: platform,
    names,
    identity: {
      account: options.account,
      realm: options.realm ?? 'default',
      label: shownLabel(options.label ?? 'This device'),
    },
    signal,
    onProblem: (problem) => degraded.set(problem?.message),
    onCorrupt: (row) => onError(new RejoinError('storage-corrupt', `A row of ${row.store} cannot be read.`)),
  })
  let meta = await database.meta().catch(async (error: unknown) => {
    await database.close()
    throw error
  })
  const { newId, timers } = platform
  const askOthers = () =>
    createChannelLocks({ channel: platform.openChannel(names.channel('liveness')), newId, timers, signal })
  const environment: Environment = { ...platform, locks: platform.locks ?? askOthers() }
  const updateMeta = async (change: (before: MetaRow) => MetaRow) => {
    meta = await database.updateMeta(change)
  }
  database.subscribe((event) => {
    if (event.kind === 'meta' && event.remote) {
      database.meta().then((row) => {
        meta = row
      }, onError)
    }
  })
  const label = options.label === undefined ? meta.label : shownLabel(options.label)
  if (label !== meta.label) {
    await updateMeta((before) => ({ ...before, label }))
  }
  const now = () => environment.now() + meta.clockOffsetMs

  const index = createSessionIndex(database, { signal, onError })
  const running = createRunningClaims(environment.locks, (claimId) => names.lock(`claim:${claimId}`))
  signal.addEventListener('abort', running.close, { once: true })
  const decidingTabs = createDecidingTabs({
    locks: environment.locks,
    lockName: names.lock,
    lifecycle: environment.lifecycle,
    signal,
  })
  const messageStore = createMessageStore({
    database,
    environment,
    names,
    signal,
    firstLoad: (sessionId) => authority().firstLoad(sessionId),
    onProblem: onError,
  })
  let sync: Sync | undefined
  const authority = (): ClaimAuthority => sync?.authority ?? localAuthority
  if (options.serverUrl !== undefined) {
    sync = openSync({
      names,
      serverUrl: options.serverUrl,
      token: options.token,
      environment,
      database,
      documents: messageStore.documents,
      index,
      running,
      decidingTabs,
      meta: () => meta,
      updateMeta,
      now,
      signal,
      onError,
    })
  }

  const calls = createToolCalls({ ...messageStore, timers: environment.timers })
  const attention = createAttentionActions({
    database,
    index,
    authority: authority(),
    calls,
    running,
    now: environment.now,
    async reconcileCall(sessionId, toolCallId, finding) {
      if (!(await messageStore.isUsed(sessionId))) return
      await reconcileToolCall(messageStore.memory(sessionId), toolCallId, finding, environment)
    },
  })
  const book = createClaimBook(index, giveBackRunning({ database, index, running, attention, now }))
  runWonClaims({
    database,
    index,
    book,
    running,
    calls,
    timers: environment.timers,
    now: environment.now,
    signal,
    onError,
  })
  const storage = createSessionStorage({
    database,
    environment,
    authority: authority(),
    running,
    decidingTabs,
    calls,
    claims: book,
    now,
    signal,
  })
  const use = trackOpen((sessionIds) => sync?.setOpen(sessionIds))
  await index.ready

  return {
    storage,
    memory: (sessionId) => messageStore.memory(use(sessionId)),
    messages: (sessionId) => messageStore.messages(use(sessionId)),
    sessions: derived(index, (sessions) => sessionSummaries(sessions, sync !== undefined)),
    claims: {
      ...derived(index, (sessions) => claimInfos(sessions, meta.device)),
      run: book.runAny,
      withdraw: (claimId) => withdraw(claimId),
    },
    attention: {
      ...createAttentionList({ index, now: environment.now, timers: environment.timers, signal }),
      ...attention,
    },
    status: createStatus({
      index,
      degraded,
      ...(sync && { connection: sync.connection, behind: sync.behind }),
      meta: () => meta,
      now: environment.now,
      timers: environment.timers,
      signal,
    }),
    retryNow: () => sync?.retryNow(),
    async close() {
      await messageStore.close()
      end()
      await database.close()
    },
  }

  async function withdraw(claimId: string): Promise<boolean> {
    await index.settled()
    const found = [...index.get().values()].find(({ claims }) => claims.some((claim) => claim.claimId === claimId))
    if (!found) return false
    return database.transact(found.sessionId, 'strict', (session) => withdrawClaim(session, claimId))
  }
}

function requireHttpUrl(url: string): void {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return
  throw new RejoinError('refused', `The server's address ${url} is no http or https URL.`, {
    hint: 'Give serverUrl as in https://sync.example.com, or leave it out.',
  })
}

/** At most 128 characters, and no half of a pair: a request could not carry it. */
function shownLabel(label: string): string {
  return label
    .slice(0, MAX_LABEL_LENGTH)
    .replace(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, '')
}

/** What a session says of a run of this page that did not end as it should. */
function giveBackRunning({
  database,
  index,
  running,
  attention,
  now,
}: {
  readonly database: Database
  readonly index: LiveSessionIndex
  readonly running: RunningClaims
  readonly attention: AttentionActions
  readonly now: () => number
}): Pick<Required<LiveClaims>, 'release' | 'interrupt'> {
  async function find(sessionId: string, token: string): Promise<ClaimRow | undefined> {
    await index.settled()
    const live = index.get().get(sessionId)
    return live && liveClaim(live, token)
  }

  async function interrupt(sessionId: string, token: string, reason: string): Promise<void> {
    const claim = await find(sessionId, token)
    if (!claim || !running.has(claim.claimId)) return
    const problem = { code: 'interrupted', message: reason, retryable: false, at: now() }
    await database.transact(sessionId, 'strict', (session) => raiseAttention(session, claim.claimId, problem))
    running.drop(claim.claimId)
  }

  return {
    interrupt,
    async release(sessionId, token, reason) {
      const claim = await find(sessionId, token)
      if (!claim || !running.has(claim.claimId)) return
      // Without the server it cannot be given back: then a person finds it listed.
      await attention.release(claim.claimId, reason).catch(() => interrupt(sessionId, token, reason))
    },
  }
}

/** Remembers which sessions this tab used last, and tells when that changes. */
function trackOpen(tell: (sessionIds: ReadonlySet<string>) => void): (sessionId: string) => string {
  const used = new Set<string>()
  return (sessionId) => {
    if (!isSafeId(sessionId)) {
      throw new RejoinError('refused', 'A session id has 1 to 128 characters of A-Z a-z 0-9 . _ : and -.')
    }
    const known = used.delete(sessionId)
    used.add(sessionId)
    const oldest = used.size > MAX_OPEN_SESSIONS ? used.values().next().value : undefined
    if (oldest !== undefined) used.delete(oldest)
    if (!known) tell(new Set(used))
    return sessionId
  }
}

/** A view of the index that is computed once per change, and stays the same while it says the same. */
function derived<T>(index: LiveSessionIndex, compute: (sessions: SessionIndex) => T): Observable<T> {
  let from: SessionIndex | undefined
  let value: T
  const get = () => {
    const sessions = index.get()
    if (sessions !== from) {
      const next = compute(sessions)
      if (from === undefined || JSON.stringify(next) !== JSON.stringify(value)) value = next
      from = sessions
    }
    return value
  }
  return { get, subscribe: index.subscribe }
}
