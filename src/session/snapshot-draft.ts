import { decodeSnapshot } from '../contract/decode-snapshot.ts'
import {
  type ActiveTurn,
  type Confirmation,
  MAX_CONFIRMATIONS,
  SESSION_PROTOCOL,
  SESSION_PROTOCOL_VERSION,
  type Snapshot,
  type TerminalTurn,
} from '../contract/session-snapshot.ts'
import { pruneConfirmations } from '../core/prune-confirmations.ts'
import { pruneDecisions } from '../core/prune-decisions.ts'
import { RejoinError } from '../errors.ts'
import type { DefinitionIdentity } from './definition.ts'
import type { Progress } from './dispatch-turn.ts'

export interface SessionIdentity extends DefinitionIdentity {
  readonly sessionId: string
}

/** The part of a snapshot that changes by saves alone. The conversation is not in it: that goes on without them. */
export interface Draft {
  readonly activeTurn?: ActiveTurn | undefined
  readonly terminalTurns: readonly TerminalTurn[]
  readonly confirmations: readonly Confirmation[]
}

export function draftOf(stored: Snapshot | undefined): Draft {
  const { activeTurn, terminalTurns = [], confirmations = [] } = stored ?? {}
  return { activeTurn, terminalTurns, confirmations }
}

export interface SnapshotToBuild {
  readonly identity: SessionIdentity
  readonly draft: Draft
  readonly progress: Progress | undefined
  readonly cursor: number
  readonly updatedAt: Date
}

/**
 * A checked snapshot, with room made where there are too many records.
 *
 * @throws RejoinError `too-large`, or `snapshot-invalid`, for what could never be resumed.
 */
export function buildSnapshot({ identity, draft, progress, cursor, updatedAt }: SnapshotToBuild): Snapshot {
  const confirmations = pruneConfirmations(draft.confirmations)
  if (confirmations.length > MAX_CONFIRMATIONS) {
    throw new RejoinError('too-large', `The session holds ${confirmations.length} confirmations that nobody decided.`, {
      hint: 'Decide some of them, or start a new session.',
    })
  }
  const decoded = decodeSnapshot({
    protocol: SESSION_PROTOCOL,
    version: SESSION_PROTOCOL_VERSION,
    ...identity,
    updatedAt: updatedAt.toISOString(),
    cursor,
    ...(draft.activeTurn && { activeTurn: draft.activeTurn }),
    ...(draft.terminalTurns.length > 0 && { terminalTurns: draft.terminalTurns }),
    ...(progress && { conversation: { state: progress.state, decisions: pruneDecisions(progress.decisions) } }),
    confirmations,
  })
  if (decoded.ok) return decoded.snapshot
  throw new RejoinError('snapshot-invalid', 'The state of the session breaks a bound of the session envelope.', {
    hint: 'Compare the ids, texts and counts with the bounds of agentskit.chat.session version 1.',
  })
}
