import { useState } from 'react'
import type { AttentionItem, Rejoin } from 'rejoin'
import { useAttention } from 'rejoin/react'

/** What a person has to look at in any chat of this device. Broken runs are settled on their own card. */
export function AttentionList({ rejoin, deviceLabel }: { readonly rejoin: Rejoin; readonly deviceLabel: string }) {
  const items = useAttention(rejoin)
  const [busy, setBusy] = useState(false)
  if (items.length === 0) return null

  function act(action: Promise<unknown>): void {
    setBusy(true)
    // What fails stays on the list.
    action.catch(() => {}).finally(() => setBusy(false))
  }

  return (
    <section className="attention" aria-label={`Needs attention on ${deviceLabel}`}>
      <ul data-testid="attention">
        {items.map((item) => (
          <li key={keyOf(item)} className="attention-item" data-testid="attention-item" data-kind={item.kind}>
            <span>
              <b>{item.sessionId}</b> {textOf(item)}
            </span>
            <span className="attention-actions">
              {item.kind === 'claim' && item.state === 'won' && (
                <button
                  type="button"
                  className="plain"
                  disabled={busy}
                  onClick={() => act(rejoin.attention.release(item.claimId))}
                >
                  Take it back
                </button>
              )}
              {item.kind === 'refused' && (
                <button
                  type="button"
                  className="plain"
                  disabled={busy}
                  onClick={() => act(rejoin.attention.retry(item.sessionId))}
                >
                  Send again
                </button>
              )}
              {item.kind === 'conversation-diverged' && (
                <button
                  type="button"
                  className="plain"
                  disabled={busy}
                  onClick={() => act(rejoin.attention.dismiss(item.sessionId))}
                >
                  Understood
                </button>
              )}
              {item.kind === 'deleted' && (
                <button
                  type="button"
                  className="plain"
                  disabled={busy}
                  onClick={() => act(rejoin.attention.discard(item.sessionId))}
                >
                  Discard
                </button>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function keyOf(item: AttentionItem): string {
  const about = item.kind === 'claim' ? item.claimId : item.kind === 'refused' ? (item.token ?? '') : ''
  return `${item.kind} ${item.sessionId} ${about}`
}

function textOf(item: AttentionItem): string {
  switch (item.kind) {
    case 'claim':
      if (item.state === 'won') return 'has a decision that was never carried out: open the chat, or take it back.'
      if (item.state === 'running') return `has an action that has been running since ${timeOf(item.since)}.`
      return 'has an action of which nobody knows whether it ran: say so on its card.'
    case 'refused':
      return `has a change that the server refused: ${item.problem.message}`
    case 'conversation-diverged':
      return `took another way on the other device. Replaced here: ${item.decisions.map(({ input }) => input).join(', ')}.`
    case 'deleted':
      return 'was deleted on another device, before all of it was sent.'
  }
}

function timeOf(at: number): string {
  return new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
}
