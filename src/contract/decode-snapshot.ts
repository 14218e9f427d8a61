import { SESSION_PROTOCOL, SESSION_PROTOCOL_VERSION, type Snapshot, SnapshotSchema } from './session-snapshot.ts'

export interface SnapshotDiagnostic {
  readonly code: 'SESSION_INVALID_SNAPSHOT' | 'SESSION_UNSUPPORTED_VERSION'
  readonly message: string
  readonly retryable: false
}

export type DecodedSnapshot =
  | { readonly ok: true; readonly snapshot: Snapshot }
  | { readonly ok: false; readonly diagnostic: SnapshotDiagnostic }

/**
 * Reads a session envelope from anywhere: an object or its JSON text, version 1 or the migrated version 0.
 * Never throws. The result shares nothing with the input, and its records are frozen.
 */
export function decodeSnapshot(input: unknown): DecodedSnapshot {
  try {
    return decode(typeof input === 'string' ? (JSON.parse(input) as unknown) : input)
  } catch {
    return invalid
  }
}

function decode(value: unknown): DecodedSnapshot {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return invalid
  const { version } = value as { version?: unknown }
  if (typeof version === 'number' && version !== 0 && version !== SESSION_PROTOCOL_VERSION) return unsupported
  const current = version === 0 ? { ...value, protocol: SESSION_PROTOCOL, version: SESSION_PROTOCOL_VERSION } : value
  const parsed = SnapshotSchema.safeParse(current)
  return parsed.success ? { ok: true, snapshot: freeze(parsed.data) } : invalid
}

function freeze(snapshot: Snapshot): Snapshot {
  for (const confirmation of snapshot.confirmations) Object.freeze(confirmation)
  for (const turn of snapshot.terminalTurns ?? []) Object.freeze(turn)
  if (snapshot.activeTurn) Object.freeze(snapshot.activeTurn)
  if (snapshot.conversation) {
    for (const decision of snapshot.conversation.decisions) Object.freeze(decision)
    Object.freeze(snapshot.conversation)
  }
  return Object.freeze(snapshot)
}

const invalid: DecodedSnapshot = failure('SESSION_INVALID_SNAPSHOT', 'The session snapshot is not valid.')
const unsupported: DecodedSnapshot = failure(
  'SESSION_UNSUPPORTED_VERSION',
  'The session snapshot has a version that is not supported.',
)

function failure(code: SnapshotDiagnostic['code'], message: string): DecodedSnapshot {
  return { ok: false, diagnostic: { code, message, retryable: false } }
}
