import { useId, useState } from 'react'
import type { Rejoin } from 'rejoin'
import { useReadable, useRejoinStatus } from 'rejoin/react'
import { AttentionList } from './attention-list.tsx'
import { ChatView } from './chat-view.tsx'
import { DeviceIcon } from './device-icon.tsx'
import type { DeviceProfile, PageOptions } from './page-options.ts'
import { ProblemNote } from './problem-note.tsx'
import type { RefundCounter } from './refund-counter.ts'
import { SessionList } from './session-list.tsx'
import { statusText } from './status-text.ts'
import type { SwitchedNetwork } from './switched-network.ts'
import { useDevice } from './use-device.ts'

export interface DevicePanelProps {
  readonly profile: DeviceProfile
  readonly options: PageOptions
  readonly counter: RefundCounter
}

export function DevicePanel({ profile, options, counter }: DevicePanelProps) {
  const titleId = useId()
  const device = useDevice(profile, options)
  return (
    <section className="device" aria-labelledby={titleId} data-testid={`device-${profile.name}`}>
      <header className="device-header">
        <h2 id={titleId}>
          <DeviceIcon name={profile.name} />
          {profile.label}
        </h2>
        {device.state === 'open' && (
          <>
            <StatusLine rejoin={device.rejoin} />
            <NetworkSwitch network={device.network} />
          </>
        )}
      </header>
      {device.state === 'opening' && <p className="quiet device-opening">Opening …</p>}
      {device.state === 'failed' && (
        <div className="device-opening">
          <ProblemNote problem={device.error} />
        </div>
      )}
      {device.state === 'open' && (
        <OpenDevice rejoin={device.rejoin} profile={profile} options={options} counter={counter} />
      )}
    </section>
  )
}

function OpenDevice({ rejoin, profile, options, counter }: DevicePanelProps & { readonly rejoin: Rejoin }) {
  const [sessionId, setSessionId] = useState(options.sessionId)
  return (
    <>
      <SessionList rejoin={rejoin} deviceLabel={profile.label} current={sessionId} onChoose={setSessionId} />
      <AttentionList rejoin={rejoin} deviceLabel={profile.label} onOpen={setSessionId} />
      <ChatView
        key={sessionId}
        rejoin={rejoin}
        sessionId={sessionId}
        deviceLabel={profile.label}
        counter={counter}
        tokenMs={options.tokenMs}
        refundDelayMs={options.refundDelayMs}
      />
    </>
  )
}

function StatusLine({ rejoin }: { readonly rejoin: Rejoin }) {
  const status = useRejoinStatus(rejoin)
  const { tone, headline, detail } = statusText(status)
  const { messages, snapshots, claims } = status.unsent
  return (
    <p
      className={`status status-${tone}`}
      role="status"
      data-testid="status"
      data-state={status.state}
      data-unsent={messages + snapshots + claims}
    >
      <span className="status-dot" aria-hidden="true" />
      <span>
        {headline}
        {detail && <span className="status-detail">{` · ${detail}`}</span>}
      </span>
    </p>
  )
}

function NetworkSwitch({ network }: { readonly network: SwitchedNetwork }) {
  const on = useReadable(network)
  return (
    <button
      type="button"
      role="switch"
      aria-checked={on}
      className="switch"
      data-testid="network-switch"
      title="Of this device, in all of its tabs"
      onClick={() => network.turn(!on)}
    >
      <span className="switch-text">{on ? 'Network on' : 'Network off'}</span>
      <span className="switch-track" aria-hidden="true">
        <span className="switch-thumb" />
      </span>
    </button>
  )
}
