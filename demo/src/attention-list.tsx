import { type ReactNode, useState } from 'react'
import type { AttentionItem, Rejoin } from 'rejoin'
import { useAttention } from 'rejoin/react'

export interface AttentionListProps {
  readonly rejoin: Rejoin
  readonly deviceLabel: string
  readonly onOpen: (sessionId: string) => void
}

/** What a person has to look at in any chat of this device. Broken runs are settled on their own card. */
export function AttentionList({ rejoin, deviceLabel, onOpen }: AttentionListProps) {
  const items = useAttention(rejoin)
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<string>()
  if (items.length === 0) return null

  /** What fails stays on the list. */
  async function act(action: Promise<unknown>): Promise<void> {
    setBusy(true)
    setRefusal(undefined)
    await action.catch((error: Error & { readonly hint?: string }) => {
      setRefusal([error.message, error.hint].filter(Boolean).join(' '))
    })
    setBusy(false)
  }

  const action = (testId: string, text: string, run: () => Promise<unknown>): ReactNode => (
    <button
      key={testId}
      type="button"
      className="plain"
      disabled={busy}
      data-testid={testId}
      onClick={() => void act(run())}
    >
      {text}
    </button>
  )

  function actionsOf(item: AttentionItem): ReactNode {
    const { attention } = rejoin
    switch (item.kind) {
      case 'claim':
        if (item.state === 'won') return action('take-back', 'Take it back', () => attention.release(item.claimId))
        if (item.state === 'running' || item.state === 'taken-over') {
          return [
            action('run-ended', 'It ran', () => attention.settle(item.claimId)),
            action('run-never-began', 'It did not run', () => attention.release(item.claimId)),
          ]
        }
        return null
      case 'refused':
        return action('send-again', 'Send again', () => attention.retry(item.sessionId))
      case 'in-doubt':
        return action('ask-again', 'It did not run: ask again', () => attention.clearDoubt(item.sessionId, item.token))
      case 'ran-beside':
      case 'conversation-diverged':
        return action('understood', 'Understood', () => attention.dismiss(item.sessionId))
      case 'deleted':
        return action('discard', 'Discard', () => attention.discard(item.sessionId))
    }
  }

  return (
    <section className="attention" aria-label={`Needs attention on ${deviceLabel}`}>
      <ul data-testid="attention">
        {items.map((item) => (
          <li key={keyOf(item)} className="attention-item" data-testid="attention-item" data-kind={item.kind}>
            <span>
              <button type="button" className="attention-chat" onClick={() => onOpen(item.sessionId)}>
                {item.sessionId}
              </button>{' '}
              {textOf(item)}
            </span>
            <span className="attention-actions">{actionsOf(item)}</span>
          </li>
        ))}
      </ul>
      {refusal && (
        <p className="attention-refusal" role="alert" data-testid="attention-refusal">
          {refusal}
        </p>
      )}
    </section>
  )
}

function keyOf(item: AttentionItem): string {
  const about = 'claimId' in item ? item.claimId : 'token' in item ? (item.token ?? '') : ''
  return `${item.kind} ${item.sessionId} ${about}`
}

function textOf(item: AttentionItem): string {
  switch (item.kind) {
    case 'claim':
      if (item.state === 'won') return 'has a decision that was never carried out: open the chat, or take it back.'
      if (item.state === 'running') {
        return `has an action that runs since ${timeOf(item.since)}. It may still end by itself; if you looked it up, say how it was.`
      }
      if (item.state === 'taken-over') {
        return 'has an action that broke off, and that somebody else was given since. If it ran, it may have run twice.'
      }
      return 'has an action of which nobody knows whether it ran: say so on its card.'
    case 'in-doubt':
      return 'has an action of which nobody knows whether it ran, since the server was restored. Wait for the other devices, or look it up.'
    case 'ran-beside':
      return `has an action that also ran on ${item.label ?? 'another device'} under a decision that had ended: it may have happened twice.`
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
