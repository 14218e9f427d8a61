import type { Confirmation, Decision, Snapshot } from '../../src/contract/session-snapshot.ts'
import type { PutSession } from '../../src/protocol/put-session.ts'

export const HOUR = 3_600_000

export function snapshot(cursor: number, change: Partial<Snapshot> = {}): Snapshot {
  return {
    protocol: 'agentskit.chat.session',
    version: 1,
    sessionId: 's1',
    definitionId: 'support',
    definitionRevision: 1,
    updatedAt: '2026-03-01T10:00:00.000Z',
    cursor,
    confirmations: [],
    ...change,
  }
}

export function confirmation(token: string, change: Partial<Confirmation> = {}): Confirmation {
  return {
    token,
    action: 'refund',
    input: { order: 7 },
    toolCallId: `call-${token}`,
    expiresAt: Date.UTC(2030, 0),
    status: 'pending',
    ...change,
  }
}

export function decision(messageId: string, fromState: string, toState: string): Decision {
  return { messageId, input: '/next', routeId: 'next', kind: 'deterministic', content: 'ok', fromState, toState }
}

export function put(writeId: string, asked: Snapshot, change: Partial<PutSession> = {}): PutSession {
  return { incarnation: 'i1', writeId, snapshot: asked, ...change }
}
