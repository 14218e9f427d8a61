import type { ToolCall } from '@agentskit/core'
import { type Ref, useId } from 'react'
import type { CardState } from './card-state.ts'

export interface ConfirmationCardProps {
  readonly ref: Ref<HTMLElement>
  readonly call: ToolCall
  readonly state: CardState
  /** Epoch ms by the server's clock, for the time that is left. */
  readonly now: number
  /** A decision of this page is under way. */
  readonly busy: boolean
  readonly onApprove: () => void
  readonly onReject: () => void
  /** Takes a decision back that was not sent. */
  readonly onWithdraw: () => void
  readonly onRan: () => void
  readonly onDidNotRun: () => void
}

export function ConfirmationCard(props: ConfirmationCardProps) {
  const { call, state } = props
  const titleId = useId()
  const { order, euros } = call.args
  return (
    <article
      ref={props.ref}
      tabIndex={-1}
      className={`card card-${toneOf(state)}`}
      aria-labelledby={titleId}
      data-testid="confirmation-card"
      data-call={call.id}
      data-state={state.kind}
      data-outcome={state.kind === 'decided' ? state.outcome : undefined}
    >
      <h3 id={titleId}>
        Refund {String(euros)} € <span className="card-order">order {String(order)}</span>
      </h3>
      <p className="card-text" role="status" data-testid="card-text">
        {textOf(state, props.now)}
      </p>
      <Actions {...props} />
      {call.result && <p className="card-result">{call.result}</p>}
      {call.status === 'error' && call.error && state.kind === 'decided' && state.outcome === 'approved' && (
        <p className="card-result card-failed">It was tried, and ended with an error: {call.error}</p>
      )}
    </article>
  )
}

function Actions({ state, busy, ...on }: ConfirmationCardProps) {
  switch (state.kind) {
    case 'pending':
      return (
        <div className="card-actions">
          <button type="button" className="primary" disabled={busy} data-testid="approve" onClick={on.onApprove}>
            Approve
          </button>
          <button type="button" className="plain" disabled={busy} data-testid="reject" onClick={on.onReject}>
            Reject
          </button>
        </div>
      )
    case 'overdue':
      return (
        <div className="card-actions">
          <button type="button" className="plain" disabled={busy} data-testid="close-expired" onClick={on.onApprove}>
            Close it
          </button>
        </div>
      )
    case 'queued':
      return state.claimId ? (
        <div className="card-actions">
          <button type="button" className="plain" disabled={busy} data-testid="withdraw" onClick={on.onWithdraw}>
            Take it back
          </button>
        </div>
      ) : null
    case 'attention':
      return (
        <div className="card-actions">
          <button type="button" className="plain" disabled={busy} data-testid="it-ran" onClick={on.onRan}>
            It ran
          </button>
          <button type="button" className="plain" disabled={busy} data-testid="it-did-not-run" onClick={on.onDidNotRun}>
            It did not run
          </button>
        </div>
      )
    default:
      return null
  }
}

function toneOf(state: CardState): 'open' | 'waiting' | 'done' | 'over' | 'bad' {
  switch (state.kind) {
    case 'pending':
      return 'open'
    case 'attention':
      return 'bad'
    case 'decided':
      return state.outcome === 'approved' ? 'done' : 'over'
    case 'expired':
    case 'overdue':
      return 'over'
    default:
      return 'waiting'
  }
}

const WISH = { approving: 'approval', rejecting: 'rejection', expiring: 'closing' } as const
const DOING = { approving: 'Being run', rejecting: 'Being rejected', expiring: 'Being closed' } as const

function textOf(state: CardState, now: number): string {
  switch (state.kind) {
    case 'arriving':
      return 'Its details have not arrived here yet.'
    case 'pending':
      return [
        state.refused && `Your decision was refused: ${state.refused}`,
        `Needs a decision, ${timeLeft(state.expiresAt - now)}.`,
      ]
        .filter(Boolean)
        .join(' ')
    case 'overdue':
      return 'Nobody decided in time, so it can no longer run.'
    case 'queued':
      return state.claimId
        ? `Your ${WISH[state.want]} waits for the connection. Nothing ran yet.`
        : `Your ${WISH[state.want]} is on its way to the server. Nothing ran yet.`
    case 'running':
      return `${DOING[state.want]} ${state.elsewhere ? `on ${state.elsewhere}` : 'here'} …`
    case 'expired':
      return `Expired before anybody decided${state.lost ? ', your decision came too late' : ''}. It did not run.`
    case 'attention':
      return 'It is not known whether it ran: the page that ran it went away. Look it up, then say what happened.'
    case 'decided':
      return decidedText(state)
  }
}

function decidedText({ outcome, elsewhere, here, lost }: Extract<CardState, { kind: 'decided' }>): string {
  const verb = outcome === 'approved' ? 'Approved' : 'Rejected'
  const place = elsewhere && !here ? ` on ${elsewhere}` : here ? ' here' : ''
  return `${verb}${place}.${lost ? ` Your ${WISH[lost]} came second and did nothing.` : ''}`
}

function timeLeft(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  return seconds > 90 ? `${Math.round(seconds / 60)} min left` : `${seconds} s left`
}
