import type { RejoinStatus } from 'rejoin'

export interface StatusText {
  readonly tone: 'good' | 'calm' | 'waiting' | 'bad'
  readonly headline: string
  /** What waits, or why. */
  readonly detail: string | undefined
}

const HEADLINES: Record<RejoinStatus['state'], readonly [StatusText['tone'], string]> = {
  local: ['calm', 'Kept on this device only'],
  offline: ['waiting', 'Offline'],
  connecting: ['waiting', 'Connecting'],
  syncing: ['waiting', 'Syncing'],
  synced: ['good', 'Synced'],
  'needs-auth': ['bad', 'Signed out'],
  degraded: ['bad', 'Not stored safely'],
  error: ['bad', 'Something is wrong'],
}

/** The status in words. Only `synced` says that nothing waits. */
export function statusText(status: RejoinStatus): StatusText {
  const [tone, headline] = HEADLINES[status.state]
  const waiting = unsentText(status)
  const reason = tone === 'bad' ? status.reason : undefined
  const nothing = status.state === 'offline' || status.state === 'connecting' ? 'nothing waits to be sent' : undefined
  return { tone, headline, detail: [reason, waiting].filter(Boolean).join(' · ') || nothing }
}

function unsentText({ state, unsent }: RejoinStatus): string | undefined {
  // Without a server nothing is on its way anywhere.
  if (state === 'local') return undefined
  const parts = [
    count(unsent.messages, 'message change', 'message changes'),
    count(unsent.snapshots, 'session state', 'session states'),
    count(unsent.claims, 'decision', 'decisions'),
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? undefined : `${parts.join(', ')} to send`
}

function count(n: number, one: string, many: string): string | undefined {
  return n === 0 ? undefined : `${n} ${n === 1 ? one : many}`
}
