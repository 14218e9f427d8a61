import { hasUnsentUpdates, type IndexedSession, type SessionIndex } from '../storage/session-index.ts'
import { hasUnsentClaims } from './dispatch-claims.ts'

/** One line of a list of sessions. */
export interface SessionSummary {
  readonly sessionId: string
  /** Of its snapshot, ISO 8601; absent while only messages, or nothing but its name, are here. */
  readonly updatedAt?: string
  /** Something of it is not on the server yet; false where there is none. */
  readonly unsent: boolean
  readonly pendingConfirmations: number
  /** Another device deleted it; what was unsynced is still here to be exported or discarded. */
  readonly deleted: boolean
}

/** The latest first. */
export function sessionSummaries(index: SessionIndex, hasServer: boolean): readonly SessionSummary[] {
  return [...index.values()]
    .filter(({ row }) => row !== undefined)
    .map((session) => summary(session, hasServer))
    .sort((a, b) => (b.updatedAt ?? '').localeCompare(a.updatedAt ?? '') || a.sessionId.localeCompare(b.sessionId))
}

function summary(session: IndexedSession, hasServer: boolean): SessionSummary {
  const { sessionId, row } = session
  const updatedAt = row?.local?.updatedAt
  return {
    sessionId,
    ...(updatedAt !== undefined && { updatedAt }),
    unsent: hasServer && isUnsent(session),
    pendingConfirmations: row?.local?.confirmations.filter(({ status }) => status === 'pending').length ?? 0,
    deleted: row?.deleted !== undefined,
  }
}

function isUnsent(session: IndexedSession): boolean {
  const { dirty = false, sent } = session.row ?? {}
  return dirty || sent !== undefined || hasUnsentUpdates(session) || hasUnsentClaims(session)
}
