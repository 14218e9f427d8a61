import { decodeSnapshot } from '../contract/decode-snapshot.ts'
import type { LiveSessionStorage } from '../contract/live-session-storage.ts'
import type { Snapshot } from '../contract/session-snapshot.ts'
import { deepEqual, sameContent } from '../core/same-content.ts'
import { RejoinError } from '../errors.ts'
import { adoptConversation } from './adopt-conversation.ts'
import type { Machine } from './conversation.ts'
import type { Progress } from './dispatch-turn.ts'
import { incompatibility } from './incompatibility.ts'
import { createListeners } from './listeners.ts'
import { SessionConflictError } from './session-conflict-error.ts'
import { buildSnapshot, type Draft, draftOf, type SessionIdentity } from './snapshot-draft.ts'

/** How often a save that does not collide in what it says is built again on what somebody else stored. */
export const RETRIES = 5

/**
 * One step of the stored state. It is called when its turn comes, and again after each conflict, on what is stored
 * then; it may throw to give up. `undefined`: there is nothing to save.
 */
export type Change = (draft: Draft, attempt: number) => Draft | undefined

export interface ChangeOptions {
  readonly signal?: AbortSignal | undefined
  /** Default 0: the first conflict is reported. */
  readonly retries?: number
  /** Also after the session ended, and without its signal: for what must not be forgotten. */
  readonly always?: boolean
}

/**
 * What a session knows to be stored, what it has beyond that, and its saves, one after the other. Nothing of a change
 * shows before it is stored, so a failed one has nothing to take back.
 */
export interface SessionLedger {
  readonly stored: () => Snapshot | undefined
  readonly progress: () => Progress | undefined
  /** The conversation moved; it is stored soon, several moves in one save. */
  readonly advance: (progress: Progress) => void
  /**
   * Saves in call order; each snapshot is built when its turn comes.
   *
   * @throws SessionConflictError after the last retry, with what is stored taken over; RejoinError `deleted`,
   * `definition-mismatch` or `closed`, and the signal's reason, once the session has ended.
   */
  readonly change: (change: Change, options?: ChangeOptions) => Promise<void>
  readonly problem: () => Error | undefined
  readonly subscribe: (listener: () => void) => () => void
  /** Aborted when the session ends. */
  readonly lifetime: AbortSignal
  readonly end: (reason: unknown) => void
}

export interface LedgerOptions {
  readonly identity: SessionIdentity
  readonly machine: Machine | undefined
  readonly snapshot: Snapshot | undefined
  readonly storage: LiveSessionStorage | undefined
  readonly now: () => Date
  readonly signal: AbortSignal | undefined
}

export function createSessionLedger(options: LedgerOptions): SessionLedger {
  const { identity, machine, storage, now, signal: ownerSignal } = options
  const listeners = createListeners()
  const life = new AbortController()
  let stored = options.snapshot
  let progress = machine && progressOf(machine, stored)
  let problem: Error | undefined
  let queue: Promise<unknown> = Promise.resolve()
  let followWaits = false

  function inOrder<T>(run: () => Promise<T>): Promise<T> {
    const link = queue.then(run)
    queue = link.catch(() => undefined)
    return link
  }

  function change(next: Change, { signal = ownerSignal, retries = 0, always = false }: ChangeOptions = {}) {
    return inOrder(async () => {
      for (let attempt = 0; ; attempt++) {
        if (!always) {
          life.signal.throwIfAborted()
          signal?.throwIfAborted()
        }
        const draft = next(draftOf(stored), attempt)
        if (!draft) return
        if (await save(draft, always ? undefined : signal)) return
        await adoptAfterConflict()
        if (attempt >= retries) throw new SessionConflictError()
      }
    })
  }

  async function save(draft: Draft, signal: AbortSignal | undefined): Promise<boolean> {
    const saved = progress
    const cursor = (stored?.cursor ?? 0) + 1
    const snapshot = buildSnapshot({ identity, draft, progress: saved, cursor, updatedAt: now() })
    if (storage && !(await storage.save(snapshot, stored?.cursor, signal))) return false
    stored = snapshot
    if (saved && progress === saved) progress = { ...saved, decisions: snapshot.conversation?.decisions ?? [] }
    problem = undefined
    listeners.call()
    return true
  }

  async function adoptAfterConflict(): Promise<void> {
    try {
      adopt(await storage?.load(identity.sessionId))
    } catch (cause) {
      throw life.signal.aborted ? life.signal.reason : new SessionConflictError({ cause })
    }
  }

  function adopt(input: unknown): void {
    if (input === undefined || input === null) {
      if (stored) throw endWith(deleted())
      return
    }
    const decoded = decodeSnapshot(input)
    if (!decoded.ok) throw new RejoinError('snapshot-invalid', decoded.diagnostic.message)
    const { snapshot } = decoded
    const mismatch = incompatibility(identity, machine, snapshot)
    if (mismatch) throw endWith(definitionMismatch(mismatch))
    if (stored && snapshot.cursor === stored.cursor && sameContent(snapshot, stored)) return
    progress = machine && progress && adopted(machine, progress, snapshot)
    stored = snapshot
    listeners.call()
  }

  function adopted(known: Machine, ours: Progress, snapshot: Snapshot): Progress {
    // A cursor never goes back within one session: this one was deleted and made again, and ours is of the old one.
    if (stored && snapshot.cursor < stored.cursor) return progressOf(known, snapshot)
    return adoptConversation({
      initial: known.initial,
      ours,
      base: stored?.conversation,
      stored: snapshot.conversation,
    })
  }

  function isDirty(): boolean {
    return progress !== undefined && !deepEqual(progress.decisions, stored?.conversation?.decisions ?? [])
  }

  /** Several moves share one save: those that come later find nothing left to store. */
  function persistSoon(): void {
    if (life.signal.aborted) return
    const unlessStored: Change = (draft) => (stored && !isDirty() ? undefined : draft)
    change(unlessStored, { retries: RETRIES }).catch(report)
  }

  /** Takes over what somebody else stored. */
  function follow(): void {
    if (followWaits || life.signal.aborted) return
    followWaits = true
    inOrder(async () => {
      followWaits = false
      if (life.signal.aborted) return
      adopt(await storage?.load(identity.sessionId, ownerSignal))
      if (isDirty()) persistSoon()
      else problem = undefined
    }).catch(report)
  }

  /** Nobody awaits what happens in the background, so its failure stays to be seen. */
  function report(error: unknown): void {
    if (life.signal.aborted) return
    problem = error instanceof Error ? error : new Error(String(error))
    listeners.call()
  }

  function endWith(reason: Error): Error {
    problem = reason
    end(reason)
    return reason
  }

  function end(reason: unknown): void {
    if (life.signal.aborted) return
    life.abort(reason)
    listeners.call()
  }

  if (ownerSignal?.aborted) end(ownerSignal.reason)
  else {
    ownerSignal?.addEventListener('abort', () => end(ownerSignal.reason), { signal: life.signal })
    const stopWatching = storage?.watch?.(identity.sessionId, follow)
    if (stopWatching) {
      life.signal.addEventListener('abort', stopWatching, { once: true })
      // What was stored between the load and this line, nobody would tell.
      if (stored) follow()
    }
  }

  return {
    stored: () => stored,
    progress: () => progress,
    advance(next) {
      progress = next
      listeners.call()
      persistSoon()
    },
    change,
    problem: () => problem,
    subscribe: listeners.add,
    lifetime: life.signal,
    end,
  }
}

function progressOf(machine: Machine, stored: Snapshot | undefined): Progress {
  const { state, decisions } = stored?.conversation ?? { state: machine.initial, decisions: [] }
  return { state, decisions, aside: [] }
}

function deleted(): RejoinError {
  return new RejoinError('deleted', 'The session was deleted.', { hint: 'Start a new session.' })
}

function definitionMismatch(message: string): RejoinError {
  return new RejoinError('definition-mismatch', message, {
    hint: 'The session moved on to another revision of its definition: reload the application.',
  })
}
