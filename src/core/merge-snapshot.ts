import type {
  ActiveTurn,
  Confirmation,
  Conversation,
  Decision,
  Snapshot,
  TerminalTurn,
} from '../contract/session-snapshot.ts'
import { MAX_TERMINAL_TURNS } from '../contract/session-snapshot.ts'
import type { Lease } from '../protocol/session-answer.ts'
import { type AttemptedStatus, laterStatus } from './claim-order.ts'
import { isPrefix, isSameDecision } from './conversation-chain.ts'
import { pruneConfirmations } from './prune-confirmations.ts'
import { deepEqual, sameConversation } from './same-content.ts'

export interface MergeInput {
  /** What both sides last had in common; absent: nothing is known. */
  readonly base: Snapshot | undefined
  readonly local: Snapshot
  readonly server: Snapshot
  readonly lease: Lease | null
  /** The attempt that our status of a token belongs to. */
  readonly ourAttempt: (token: string) => number
  /** The attempt that the server's status of a token belongs to. */
  readonly theirAttempt: (token: string) => number
}

export interface Merged {
  readonly snapshot: Snapshot
  /** Decisions that only this device took and that the server's conversation replaced. */
  readonly diverged: readonly Decision[]
}

/** False if the two cannot be merged: another definition, or another revision of it. */
export function isMergeable(a: Snapshot, b: Snapshot): boolean {
  return (
    a.sessionId === b.sessionId && a.definitionId === b.definitionId && a.definitionRevision === b.definitionRevision
  )
}

/** The rebase table: what merges between a device and the server, field by field. */
export function mergeSnapshot(input: MergeInput): Merged {
  const { base, local, server } = input
  const { conversation, diverged } = mergeConversation(base?.conversation, local.conversation, server.conversation)
  const terminalTurns = mergeTerminalTurns(input)
  const activeTurn = mergeActiveTurn(input, terminalTurns)
  const { activeTurn: _a, terminalTurns: _t, conversation: _c, ...rest } = server
  return {
    snapshot: {
      ...rest,
      updatedAt: later(local.updatedAt, server.updatedAt),
      cursor: Math.max(local.cursor, server.cursor) + 1,
      ...(activeTurn && { activeTurn }),
      ...(terminalTurns.length > 0 && { terminalTurns }),
      ...(conversation && { conversation }),
      confirmations: pruneConfirmations(mergeConfirmations(input)),
    },
    diverged,
  }
}

function mergeConversation(
  base: Conversation | undefined,
  local: Conversation | undefined,
  server: Conversation | undefined,
): { conversation: Conversation | undefined; diverged: readonly Decision[] } {
  const ours = { conversation: local, diverged: [] }
  const theirs = { conversation: server, diverged: [] }
  if (!local || sameConversation(local, server)) return theirs
  if (!server) return ours
  if (sameConversation(local, base)) return theirs
  if (sameConversation(server, base)) return ours
  if (isPrefix(server.decisions, local.decisions)) return ours
  // Where ours is the prefix, nothing of it is missing in theirs.
  const known = [...server.decisions, ...(base?.decisions ?? [])]
  const diverged = local.decisions.filter((ours) => !known.some((theirs) => isSameDecision(ours, theirs)))
  return { conversation: server, diverged }
}

/** Union by token, the server's order first. A second token for one tool call is refused: the server's stays. */
function mergeConfirmations({ local, server, ourAttempt, theirAttempt }: MergeInput): readonly Confirmation[] {
  const ours = new Map(local.confirmations.map((confirmation) => [confirmation.token, confirmation]))
  const calls = new Set(server.confirmations.map((confirmation) => confirmation.toolCallId))
  const shared = server.confirmations.map((theirs) => {
    const our = ours.get(theirs.token)
    if (!our) return theirs
    const { status } = laterStatus(at(our, ourAttempt), at(theirs, theirAttempt))
    return status === theirs.status ? theirs : { ...theirs, status }
  })
  const known = new Set(server.confirmations.map((confirmation) => confirmation.token))
  const added = local.confirmations.filter(({ token, toolCallId }) => !known.has(token) && !calls.has(toolCallId))
  return [...shared, ...added]
}

function at({ token, status }: Confirmation, attempt: (token: string) => number): AttemptedStatus {
  return { status, attempt: attempt(token) }
}

/** Theirs, then what ended here since: what was in `base` and is gone was the oldest there, and must not come back. */
function mergeTerminalTurns({ base, local, server }: MergeInput): readonly TerminalTurn[] {
  const theirs = server.terminalTurns ?? []
  const known = new Set([...theirs, ...(base?.terminalTurns ?? [])].map((turn) => turn.turnId))
  const ours = (local.terminalTurns ?? []).filter((turn) => !known.has(turn.turnId))
  return [...theirs, ...ours].slice(-MAX_TERMINAL_TURNS)
}

/** The lease's holder; where a snapshot shows it already, or without a lease, the side that changed it. */
function mergeActiveTurn(
  { base, local, server, lease }: MergeInput,
  ended: readonly TerminalTurn[],
): ActiveTurn | undefined {
  const isOver = (id: string) => ended.some(({ turnId }) => turnId === id)
  const changed = deepEqual(local.activeTurn, base?.activeTurn) ? server.activeTurn : local.activeTurn
  const holder = lease && !isOver(lease.turnId) ? lease : undefined
  const turn =
    !holder || holder.turnId === changed?.turnId ? changed : { turnId: holder.turnId, expiresAt: holder.expiresAt }
  return turn && isOver(turn.turnId) ? undefined : turn
}

function later(a: string, b: string): string {
  return Date.parse(a) > Date.parse(b) ? a : b
}
