import type { Message } from '../contract/chat-message.ts'
import type { Environment } from '../core/environment.ts'
import { isRejoinError, RejoinError } from '../errors.ts'
import type { Database } from '../storage/database.ts'
import { closeInterrupted } from './close-interrupted.ts'
import type { Compactor } from './compactor.ts'
import type { Homes, Life, Origins } from './lineage.ts'
import { type LiveDocument, openLiveDocument } from './live-document.ts'
import { deleted } from './session-deleted.ts'
import type { SessionMessages } from './session-messages.ts'
import { createStreamLock, type StreamLock } from './stream-lock.ts'
import { withinTime } from './within-time.ts'

/** A document that nobody in this tab used for so long is let go; it is read from disk when it is asked for again. */
const RELEASE_AFTER_MS = 60_000
/** Longer than the first load from the server, which has a bound of its own. */
export const LOAD_WITHIN_MS = 8000
const CLOSE_WITHIN_MS = 2000

/** What every session of a store stands on. */
export interface MessageContext {
  readonly database: Database
  readonly environment: Pick<Environment, 'timers' | 'locks' | 'newId' | 'now'>
  readonly streamLock: (sessionId: string) => string
  readonly firstLoad: (sessionId: string) => Promise<void>
  readonly homes: Homes
  readonly onProblem: (problem: Error) => void
  readonly rows: Compactor
}

/** One session's messages in this tab, through openings, releases and deletion of its document. */
export interface MessageSession {
  readonly messages: SessionMessages
  readonly origins: Origins
  readonly streams: StreamLock
  readonly life: () => Life
  /** The document, if it is open. */
  readonly current: () => LiveDocument | undefined
  /** Opens it from this device's disk. Rejects with `deleted` when the session is over, until it is begun anew. */
  readonly open: () => Promise<LiveDocument>
  /** Opens it, also where an earlier life of the session was deleted. */
  readonly openAnew: () => Promise<LiveDocument>
  /** Opens it with everything that a first load brings. A failure is tried again by the next call. */
  readonly loaded: () => Promise<LiveDocument>
  /** What the last write or load came to. */
  readonly report: (problem: Error | undefined) => void
  readonly close: (reason: RejoinError) => Promise<void>
}

export function createMessageSession(sessionId: string, context: MessageContext): MessageSession {
  const { database, environment, homes, onProblem } = context
  const { timers } = environment
  const origins: Origins = new WeakMap()
  const listeners = new Set<() => void>()
  const streams = createStreamLock(environment.locks, context.streamLock(sessionId))
  let life: Life = { sessionId, ended: false }
  let document: LiveDocument | undefined
  let opening: Promise<LiveDocument> | undefined
  let loading: Promise<LiveDocument> | undefined
  let problem: Error | undefined
  let loadProblem: Error | undefined
  let frame: unknown
  let release: unknown
  let used = 0
  let closed: RejoinError | undefined

  function open(): Promise<LiveDocument> {
    if (closed) return Promise.reject(closed)
    if (life.ended) return Promise.reject(deleted(sessionId))
    touch()
    if (document) return Promise.resolve(document)
    opening ??= begin(life).finally(() => {
      opening = undefined
    })
    return opening
  }

  async function begin(current: Life): Promise<LiveDocument> {
    try {
      const opened = await openLiveDocument({
        sessionId,
        database,
        environment,
        onChange: changed,
        onView(view, slot, message) {
          const stored = view.id === message.id ? message : { ...message, id: view.id }
          origins.set(view, { life: current, lineage: undefined, slot, stored })
          homes.set(view, current)
        },
        onMalformed: () => onProblem(corrupt('A message that cannot be read was left out.')),
        onBadRow: (seq) => onProblem(corrupt(`Update ${seq} of the messages cannot be read and was left out.`)),
        onBadUpdate: (cause) => onProblem(corrupt('An update that came in cannot be read and was left out.', cause)),
        onOutcome: report,
        onFound: (rows) => context.rows.found(sessionId, rows),
        onWritten: (rows) => context.rows.written(sessionId, rows),
        onEnd: (reason) => ended(current, reason),
      })
      if (closed) opened.end(closed)
      opened.ended.throwIfAborted()
      document = opened
      changed()
      return opened
    } catch (error) {
      if (isRejoinError(error, 'deleted')) current.ended = true
      throw error
    }
  }

  function ended(current: Life, reason: RejoinError): void {
    document = undefined
    loading = undefined
    streams.release()
    timers.clearTimeout(release)
    release = undefined
    if (reason.code !== 'deleted') return
    current.ended = true
    report(reason)
    changed()
  }

  function openAnew(): Promise<LiveDocument> {
    if (life.ended) life = { sessionId, ended: false }
    return open()
  }

  function loaded(): Promise<LiveDocument> {
    if (life.ended) loading = undefined
    loading ??= withinTime(load(), LOAD_WITHIN_MS, () => notLoaded(sessionId), { timers }).then(
      (opened) => {
        if (problem === loadProblem) report(undefined)
        return opened
      },
      (error) => {
        loading = undefined
        loadProblem = error
        report(error)
        throw error
      },
    )
    return loading
  }

  async function load(): Promise<LiveDocument> {
    const [opened] = await Promise.all([openAnew(), context.firstLoad(sessionId)])
    await opened.readMissed()
    await closeInterrupted(opened, environment.locks, context.streamLock(sessionId))
    return opened
  }

  function report(error: Error | undefined): void {
    if (error === problem) return
    problem = error
    if (error && !closed) onProblem(error)
    changed()
  }

  function corrupt(what: string, cause?: unknown): RejoinError {
    return new RejoinError('storage-corrupt', `${what} Session ${sessionId}.`, { cause })
  }

  /** Listeners hear of it once per frame. */
  function changed(): void {
    touch()
    if (frame !== undefined || listeners.size === 0) return
    frame = timers.frame(() => {
      frame = undefined
      for (const listener of [...listeners]) listener()
    })
  }

  function touch(): void {
    used = environment.now()
    if (release === undefined && !closed) release = timers.setTimeout(letGo, RELEASE_AFTER_MS)
  }

  function letGo(): void {
    release = undefined
    const busy = listeners.size > 0 || opening !== undefined || (document?.isBusy() ?? false)
    if (busy || environment.now() - used < RELEASE_AFTER_MS) touchLater()
    else document?.end(new RejoinError('closed', `The messages of session ${sessionId} were not used for a while.`))
  }

  function touchLater(): void {
    if (document || opening) release = timers.setTimeout(letGo, RELEASE_AFTER_MS)
  }

  const none: readonly Message[] = []
  const messages: SessionMessages = {
    get: () => document?.mirror.get() ?? none,
    subscribe(listener) {
      const own = () => listener()
      listeners.add(own)
      loaded().catch(() => {}) // it was reported
      return () => {
        listeners.delete(own)
        touch()
      }
    },
    whenLoaded: () => loaded().then(() => {}),
    whenStored: async () => document?.flush(),
    toolCall: (toolCallId) => document?.mirror.toolCall(toolCallId),
    problem: () => problem,
  }

  return {
    messages,
    origins,
    streams,
    life: () => life,
    current: () => document,
    open,
    openAnew,
    loaded,
    report,
    async close(reason) {
      closed = reason
      timers.cancelFrame(frame)
      listeners.clear()
      const stored = document?.flush() ?? Promise.resolve()
      await withinTime(stored, CLOSE_WITHIN_MS, () => reason, { timers }).catch(() => {}) // it was reported
      document?.end(reason)
      timers.clearTimeout(release)
      streams.release()
    },
  }
}

export function notLoaded(sessionId: string): RejoinError {
  return new RejoinError('not-loaded', `Session ${sessionId} was not loaded within ${LOAD_WITHIN_MS / 1000} s.`, {
    hint: 'Load it again.',
  })
}
