import type { SessionSnapshot } from 'rejoin'

/** A small snapshot that is like no other one: `turn` names a turn that has ended. */
export function snapshotOf(sessionId: string, cursor: number, turn = `turn-${cursor}`): SessionSnapshot {
  return {
    protocol: 'agentskit.chat.session',
    version: 1,
    sessionId,
    definitionId: 'plain-saves',
    definitionRevision: 1,
    updatedAt: '2026-01-01T00:00:00.000Z',
    cursor,
    terminalTurns: [{ turnId: turn, outcome: 'completed' }],
    confirmations: [],
  }
}
