import { useEffect, useState } from 'react'
import { browserEnvironment, openRejoin, type Rejoin } from 'rejoin'
import type { DeviceProfile, PageOptions } from './page-options.ts'
import { isSwitchedOff, shareSwitch } from './share-switch.ts'
import { createSwitchedNetwork, type SwitchedNetwork } from './switched-network.ts'

export type Device =
  | { readonly state: 'opening' }
  | { readonly state: 'failed'; readonly error: unknown }
  | { readonly state: 'open'; readonly rejoin: Rejoin; readonly network: SwitchedNetwork }

/** Opens one device for as long as it is shown: its own realm is its own database, locks and channel. */
export function useDevice({ label, realm }: DeviceProfile, { serverUrl, online }: PageOptions): Device {
  const [device, setDevice] = useState<Device>({ state: 'opening' })
  useEffect(() => {
    const shown = new AbortController()
    const environment = browserEnvironment()
    const shelf = localShelf()
    const network = createSwitchedNetwork(environment, online && !isSwitchedOff(realm, shelf))
    shareSwitch(network, { realm, shelf, signal: shown.signal })
    openRejoin({
      account: 'demo',
      realm,
      label,
      ...(serverUrl === undefined ? {} : { serverUrl }),
      signal: shown.signal,
      environment: { ...environment, ...network.environment },
    }).then(
      (rejoin) => !shown.signal.aborted && setDevice({ state: 'open', rejoin, network }),
      (error: unknown) => !shown.signal.aborted && setDevice({ state: 'failed', error }),
    )
    return () => shown.abort()
  }, [label, realm, serverUrl, online])
  return device
}

/** A browser that keeps nothing for the page throws at the mere mention. */
function localShelf(): Storage | undefined {
  try {
    return localStorage
  } catch {
    return undefined
  }
}
