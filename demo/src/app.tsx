import { useState } from 'react'
import { useReadable } from 'rejoin/react'
import { DevicePanel } from './device-panel.tsx'
import type { PageOptions } from './page-options.ts'
import { createRefundCounter, type RefundCounter } from './refund-counter.ts'

export function App({ options }: { readonly options: PageOptions }) {
  const [counter] = useState(createRefundCounter)
  const single = options.devices.length === 1
  return (
    <div className={single ? 'page page-single' : 'page'}>
      <header className="page-header">
        <div>
          <h1>Refund desk</h1>
          <p className="page-intro">
            {single
              ? 'One device. Open the other one in a second window, or both on one page.'
              : 'Two devices, one account. Switch a network off, decide the same refund on both, and switch it on again.'}
          </p>
          <DeviceLinks single={single} />
        </div>
        <RefundCount counter={counter} />
      </header>
      <main className="devices">
        {options.devices.map((profile) => (
          <DevicePanel key={profile.realm} profile={profile} options={options} counter={counter} />
        ))}
      </main>
    </div>
  )
}

function DeviceLinks({ single }: { readonly single: boolean }) {
  return (
    <nav className="page-links" aria-label="Ways to open the demo">
      {single && <a href="/">Both devices</a>}
      <a href="/?device=laptop">Laptop alone</a>
      <a href="/?device=phone">Phone alone</a>
      <a href="/?server=none">Without a server</a>
    </nav>
  )
}

function RefundCount({ counter }: { readonly counter: RefundCounter }) {
  const count = useReadable(counter)
  return (
    <section className="refunds" aria-label="Refunds that ran">
      <p className="refunds-count" role="status">
        <output data-testid="refund-count">{count ?? '–'}</output> {count === 1 ? 'refund ran' : 'refunds ran'}
      </p>
      <p className="refunds-note">
        Counted by the server, outside of the chat: a device reaches this counter even while its network switch is off.
      </p>
    </section>
  )
}
