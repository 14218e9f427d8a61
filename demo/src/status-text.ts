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
  const refused = status.refused > 0 ? `${count(status.refused, 'change')} refused` : undefined
  const reason = tone === 'bad' ? status.reason : undefined
  const detail = [reason, unsentText(status), refused].filter((part) => part !== undefined).join(' · ')
  if (detail !== '') return { tone, headline, detail }
  return { tone, headline, detail: status.state === 'offline' ? 'nothing waits to be sent' : undefined }
}

/** The counts are of chats, not of changes. */
function unsentText({ state, unsent: { messages, snapshots, claims } }: RejoinStatus): string | undefined {
  // Without a server nothing is on its way anywhere.
  if (state === 'local') return undefined
  const kinds = [
    [messages, 'messages'],
    [snapshots, 'steps'],
    [claims, 'decisions'],
  ] as const
  const waiting = kinds.filter(([n]) => n > 0)
  if (waiting.length === 0) return undefined
  const parts = waiting.map(([n, kind], at) => `${at === 0 ? count(n, 'chat') : n} with ${kind}`)
  return `${parts.join(', ')} to send`
}

function count(n: number, one: string): string {
  return `${n} ${n === 1 ? one : `${one}s`}`
}
