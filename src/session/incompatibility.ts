import type { Snapshot } from '../contract/session-snapshot.ts'
import { canReplay, type Machine } from './conversation.ts'
import type { SessionIdentity } from './snapshot-draft.ts'

/** Why a session of this identity and machine cannot go on from the snapshot; `undefined` if it can. */
export function incompatibility(
  identity: SessionIdentity,
  machine: Machine | undefined,
  snapshot: Snapshot,
): string | undefined {
  const { sessionId, definitionId, definitionRevision } = identity
  if (snapshot.sessionId !== sessionId) return `The stored session is incompatible: it is "${snapshot.sessionId}".`
  if (snapshot.definitionId !== definitionId) {
    return `The stored session is incompatible: it is of the definition "${snapshot.definitionId}".`
  }
  if (snapshot.definitionRevision !== definitionRevision) {
    return `The stored session is incompatible: it is of revision ${snapshot.definitionRevision}.`
  }
  if (!snapshot.conversation) return undefined
  if (!machine) return 'The stored session is incompatible: it has a conversation, and the definition has none.'
  if (canReplay(machine, snapshot.conversation)) return undefined
  return 'The stored session is incompatible: its decisions do not lead from the initial state to its state.'
}
