import { hasUnsentUpdates, type IndexedSession, type SessionIndex } from '../storage/session-index.ts'
import { hasUnsentClaims } from './dispatch-claims.ts'

/** One line of a list of sessions. */
export interface SessionSummary {
  readonly sessionId: string
  /** Of its snapshot, ISO 8601; absent while only messages, or nothing but its name, are here. */
  readonly updatedAt?: string
  /** Something of it is not on the server yet. */
  readonly unsent: boolean
  readonly pendingConfirmations: number
  /** Another device deleted it; what was unsynced is still here to be exported or discarded. */
  readonly deleted: boolean
}

/** The latest first. */
export function sessionSummaries(index: SessionIndex): readonly SessionSummary[] {
  return [...index.values()]
    .filter(({ row }) => row !== undefined)
    .map(summary)
    .sort((a, b) => (b.updatedAt ?? '').localeCompare(a.updatedAt ?? '') || a.sessionId.localeCompare(b.sessionId))
}

function summary(session: IndexedSession): SessionSummary {
  const { sessionId, row } = session
  const updatedAt = row?.local?.updatedAt
  return {
    sessionId,
    ...(updatedAt !== undefined && { updatedAt }),
    unsent: (row?.dirty ?? false) || row?.sent !== undefined || hasUnsentUpdates(session) || hasUnsentClaims(session),
    pendingConfirmations: row?.local?.confirmations.filter(({ status }) => status === 'pending').length ?? 0,
    deleted: row?.deleted !== undefined,
  }
}
