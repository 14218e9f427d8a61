import type { LiveSessionStorage } from '../contract/live-session-storage.ts'
import type { Confirmation, ConfirmationStatus } from '../contract/session-snapshot.ts'
import { deepEqual } from '../core/same-content.ts'
import { isRejoinError } from '../errors.ts'
import {
  type ActionConfirmation,
  isSettled,
  toActionConfirmation,
  toConfirmation,
  type Want,
  withStatus,
} from './action-confirmation.ts'
import type { ConfirmationRecords } from './confirmation-records.ts'
import { SessionConflictError } from './session-conflict-error.ts'
import { RETRIES, type SessionLedger } from './session-ledger.ts'
import type { Draft } from './snapshot-draft.ts'

export interface SessionConfirmationsOptions {
  readonly sessionId: string
  readonly ledger: SessionLedger
  readonly storage: LiveSessionStorage | undefined
  /** Something other than the stored snapshot changed what `get` shows. */
  readonly onChange: () => void
}

/** The one list of a session's confirmations: what is stored, what is being proposed, and what waits for the server. */
export function createSessionConfirmations(options: SessionConfirmationsOptions): ConfirmationRecords {
  const { sessionId, ledger, storage, onChange } = options
  const claims = storage?.claims
  const shown = new Map<string, ActionConfirmation>()
  /** Only for a storage that queues without showing its queue. */
  const marked = new Map<string, Want>()
  let version = 0
  let seen: readonly unknown[] = []
  let view: readonly ActionConfirmation[] = Object.freeze([])

  function queuedWants(): ReadonlyMap<string, Want> {
    if (!claims) return marked
    const ours = claims.get().filter((each) => each.sessionId === sessionId)
    return new Map(ours.map(({ token, want }) => [token, want]))
  }

  function get(): readonly ActionConfirmation[] {
    const sources = [ledger.stored()?.confirmations, claims?.get(), version]
    if (sources.every((source, index) => source === seen[index])) return view
    seen = sources
    const queued = queuedWants()
    const stored = (ledger.stored()?.confirmations ?? []).map((each) =>
      toActionConfirmation(each, sessionId, queued.get(each.token)),
    )
    const tokens = new Set(stored.map(({ token }) => token))
    const records = [...stored, ...[...shown.values()].filter(({ token }) => !tokens.has(token))]
    if (!deepEqual(records, view)) view = Object.freeze(records)
    return view
  }

  function changed(): void {
    version++
    onChange()
  }

  function find(token: string): ActionConfirmation | undefined {
    return get().find((record) => record.token === token)
  }

  async function claim(record: ActionConfirmation, want: Want): Promise<ActionConfirmation> {
    const { token } = record
    try {
      await ledger.change(
        (draft, attempt) => {
          if (statusIn(draft, token) !== 'pending') throw new SessionConflictError()
          // The other decision of this device is on its way; asking again would not change the answer.
          const queued = queuedWants().get(token)
          if (attempt > 0 && queued !== undefined && queued !== want) throw new SessionConflictError()
          return moved(draft, token, want)
        },
        { retries: RETRIES },
      )
    } catch (error) {
      if (isRejoinError(error, 'claim-queued') && !claims) marked.set(token, want)
      changed()
      throw error instanceof SessionConflictError
        ? new SessionConflictError({ record: find(token), cause: error.cause })
        : error
    }
    marked.delete(token)
    return withStatus(record, want)
  }

  return {
    get,
    show(record) {
      shown.set(record.token, record)
      changed()
      return () => {
        shown.delete(record.token)
        changed()
      }
    },
    add: (record) =>
      ledger.change((draft) => ({ ...draft, confirmations: [...draft.confirmations, toConfirmation(record)] }), {
        retries: RETRIES,
      }),
    claim,
    async settle(record, outcome) {
      const { token } = record
      await ledger.change(
        (draft) => {
          const status = statusIn(draft, token)
          // A storage may record an outcome and still report the conflict: an effect is never forgotten.
          if (status === outcome) return undefined
          if (status === undefined || status === 'pending' || isSettled(status)) {
            throw new SessionConflictError({ record: find(token) })
          }
          return moved(draft, token, outcome)
        },
        { retries: RETRIES, always: true },
      )
      return withStatus(record, outcome)
    },
    async giveBack({ token }, why) {
      if (!storage) return ledger.change((draft) => moved(draft, token, 'pending'))
      if (why === 'nothing-to-run') await claims?.release?.(sessionId, token, 'the chat had no such call waiting')
      // A failed run may have had its effect: its record stays where it is, for somebody to look at.
      else await claims?.interrupt?.(sessionId, token, 'the run failed')
    },
    proposals: new Map(),
    adoptions: new Map(),
    operations: new Map(),
  }
}

function statusIn(draft: Draft, token: string): ConfirmationStatus | undefined {
  return draft.confirmations.find((each) => each.token === token)?.status
}

function moved(draft: Draft, token: string, status: ConfirmationStatus): Draft {
  const move = (each: Confirmation) => (each.token === token ? { ...each, status } : each)
  return { ...draft, confirmations: draft.confirmations.map(move) }
}
