export type DeviceName = 'laptop' | 'phone'

export interface DeviceProfile {
  readonly name: DeviceName
  /** What the other device calls this one. */
  readonly label: string
  /** Names the device's database, locks and channel. */
  readonly realm: string
}

/** What the address of the page asks for; README.md lists the parameters. */
export interface PageOptions {
  readonly devices: readonly DeviceProfile[]
  readonly sessionId: string
  /** Absent: the devices keep to themselves. */
  readonly serverUrl: string | undefined
  /** False: the devices start with their network switched off. */
  readonly online: boolean
  /** Between two tokens of the scripted model. */
  readonly tokenMs: number
  /** How long a refund takes before it runs. */
  readonly refundDelayMs: number
}

const LABELS: Record<DeviceName, string> = { laptop: 'Laptop', phone: 'Phone' }
const DEFAULT_TOKEN_MS = 45
const MAX_TOKEN_MS = 5000
const SLOW_REFUND_MS = 4000

export function readPageOptions(address: URL): PageOptions {
  const { searchParams } = address
  const asked = searchParams.get('device')
  const names: readonly DeviceName[] = asked === 'laptop' || asked === 'phone' ? [asked] : ['laptop', 'phone']
  const realm = searchParams.get('realm')
  const realmOf = (name: DeviceName) => (!realm ? name : names.length === 1 ? realm : `${realm}-${name}`)
  return {
    devices: names.map((name) => ({ name, label: LABELS[name], realm: realmOf(name) })),
    sessionId: searchParams.get('session') ?? 'first-chat',
    serverUrl: searchParams.get('server') === 'none' ? undefined : address.origin,
    online: searchParams.get('network') !== 'off',
    tokenMs: readTokenMs(searchParams.get('tokenMs')),
    refundDelayMs: searchParams.get('refund') === 'slow' ? SLOW_REFUND_MS : 0,
  }
}

function readTokenMs(text: string | null): number {
  const value = text === null || text === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) ? Math.min(Math.max(value, 0), MAX_TOKEN_MS) : DEFAULT_TOKEN_MS
}
