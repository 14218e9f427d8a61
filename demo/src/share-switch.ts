import type { SwitchedNetwork } from './switched-network.ts'

/**
 * Makes one switch of those in all tabs of a device, which a reload does not turn either. `shelf` is the tab's
 * `localStorage`; where the browser keeps nothing for the page, the switch is this tab's alone.
 */
export function shareSwitch(
  network: Pick<SwitchedNetwork, 'get' | 'subscribe' | 'turn'>,
  {
    realm,
    shelf,
    signal,
  }: { readonly realm: string; readonly shelf: Storage | undefined; readonly signal: AbortSignal },
): void {
  const key = keyOf(realm)
  const write = () => {
    if (network.get()) shelf?.removeItem(key)
    else shelf?.setItem(key, OFF)
  }
  write()
  const stop = network.subscribe(write)
  signal.addEventListener('abort', stop, { once: true })
  // Comes from the other tabs; without a key, everything was cleared.
  const follow = (event: StorageEvent) => {
    if (event.storageArea === shelf && (event.key === key || event.key === null)) network.turn(event.newValue !== OFF)
  }
  addEventListener('storage', follow, { signal })
}

/** Some tab of this device, maybe one of the past, switched its network off. */
export function isSwitchedOff(realm: string, shelf: Storage | undefined): boolean {
  return shelf?.getItem(keyOf(realm)) === OFF
}

const OFF = 'off'

function keyOf(realm: string): string {
  return `refund-desk:network:${realm}`
}
