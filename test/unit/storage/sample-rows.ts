import type { Snapshot } from '../../../src/contract/session-snapshot.ts'
import type { ClaimRow, DeleteRow, SessionRow } from '../../../src/core/device-session.ts'

export function sampleSnapshot(sessionId: string, cursor: number): Snapshot {
  return {
    protocol: 'agentskit.chat.session',
    version: 1,
    sessionId,
    definitionId: 'refunds',
    definitionRevision: 1,
    updatedAt: '2026-01-01T00:00:00.000Z',
    cursor,
    confirmations: [],
  }
}

export function sampleRow(sessionId: string, cursor = 1, fields: Partial<SessionRow> = {}): SessionRow {
  return {
    sessionId,
    incarnation: 'i1',
    confirmed: false,
    local: sampleSnapshot(sessionId, cursor),
    dirty: true,
    left: {},
    claims: {},
    acked: 0,
    pulled: 0,
    ...fields,
  }
}

export function sampleClaim(sessionId: string, claimId: string, fields: Partial<ClaimRow> = {}): ClaimRow {
  return {
    kind: 'claim',
    claimId,
    sessionId,
    incarnation: 'i1',
    token: `token-${claimId}`,
    toolCallId: `call-${claimId}`,
    want: 'approving',
    confirmation: {
      token: `token-${claimId}`,
      action: 'refund',
      input: { order: 'A1' },
      toolCallId: `call-${claimId}`,
      expiresAt: 1000,
      status: 'approving',
    },
    own: false,
    state: 'waiting',
    attempt: 0,
    told: false,
    deviceAt: 1,
    sub: 'ada',
    ...fields,
  }
}

export function sampleDelete(sessionId: string, incarnation: string): DeleteRow {
  return { kind: 'delete', sessionId, incarnation, deviceAt: 1 }
}

export function bytes(...values: number[]): Uint8Array {
  return Uint8Array.from(values)
}
