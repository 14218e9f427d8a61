import type { Confirmation, Decision, Snapshot } from '../../../src/contract/session-snapshot.ts'

export function decision(change: Partial<Decision> = {}): Decision {
  return {
    messageId: 'user-1',
    input: '/start',
    routeId: 'start',
    kind: 'deterministic',
    content: 'Started',
    fromState: 'idle',
    toState: 'active',
    ...change,
  }
}

export function confirmation(change: Partial<Confirmation> = {}): Confirmation {
  return {
    token: 'confirm-1',
    action: 'refund',
    input: { order: 7, lines: [{ sku: 'a', amount: 1.5 }], note: null },
    toolCallId: 'app-1',
    expiresAt: 1_800_000_000_000,
    status: 'pending',
    ...change,
  }
}

export function snapshot(change: Partial<Snapshot> = {}): Snapshot {
  return {
    protocol: 'agentskit.chat.session',
    version: 1,
    sessionId: 'session-1',
    definitionId: 'support',
    definitionRevision: 1,
    updatedAt: '2026-10-01T12:00:00.000Z',
    cursor: 1,
    confirmations: [],
    ...change,
  }
}

/** Uses every field. */
export function fullSnapshot(): Snapshot {
  return snapshot({
    updatedAt: '2026-10-01T12:00:00+02:00',
    cursor: Number.MAX_SAFE_INTEGER,
    activeTurn: { turnId: 'turn-2', expiresAt: 1_800_000_000_000 },
    terminalTurns: [{ turnId: 'turn-1', outcome: 'completed' }],
    conversation: { state: 'active', decisions: [decision()] },
    confirmations: [confirmation(), confirmation({ token: 'confirm-2', toolCallId: 'app-2', status: 'approved' })],
  })
}
