import type { ToolCall } from '@agentskit/core'
import { useEffect, useRef, useState } from 'react'
import type { ActionConfirmation, ClaimInfo, ConnectedChat, Rejoin } from 'rejoin'
import { cardState } from './card-state.ts'
import { ConfirmationCard } from './confirmation-card.tsx'

export interface RefundCardProps {
  readonly call: ToolCall
  readonly record: ActionConfirmation | undefined
  readonly claim: ClaimInfo | undefined
  readonly now: number
  /** This page asked for the call, so its card is brought into view when it comes. */
  readonly askedFor: boolean
  readonly rejoin: Rejoin
  readonly connected: Pick<ConnectedChat, 'confirmation' | 'session'>
  /** Shows what went wrong, if something does. */
  readonly attempt: (action: Promise<unknown>) => void
}

/** A confirmation card, and what its buttons do. */
export function RefundCard({ call, record, claim, now, askedFor, rejoin, connected, attempt }: RefundCardProps) {
  const [busy, setBusy] = useState(false)
  const card = useRef<HTMLElement>(null)
  const acted = useRef(false)
  const state = cardState({ call, record, claim, now })

  // The button that was used goes away with its decision: whoever used it by keyboard stays at the card.
  // biome-ignore lint/correctness/useExhaustiveDependencies: looks each time the card changes.
  useEffect(() => {
    if (!acted.current || document.activeElement !== document.body) return
    acted.current = false
    card.current?.focus()
  }, [state.kind, busy])

  // On a phone the end of the conversation can be out of sight, and a card grows once its record is there.
  const asks = askedFor && (state.kind === 'arriving' || state.kind === 'pending')
  // biome-ignore lint/correctness/useExhaustiveDependencies: looks each time the card changes.
  useEffect(() => {
    if (asks) card.current?.scrollIntoView({ block: 'nearest' })
  }, [asks, state.kind])

  function act(action: () => Promise<unknown>): void {
    acted.current = true
    setBusy(true)
    attempt(action().finally(() => setBusy(false)))
  }

  const { confirmation, session } = connected

  async function withdraw(): Promise<void> {
    if (state.kind === 'queued' && state.claimId) await rejoin.claims.withdraw(state.claimId)
  }

  async function reconcile(ran: boolean): Promise<void> {
    if (state.kind !== 'attention') return
    await (ran ? rejoin.attention.settle(state.claimId) : rejoin.attention.release(state.claimId))
  }

  return (
    <ConfirmationCard
      ref={card}
      call={call}
      state={state}
      now={now}
      busy={busy}
      onApprove={() => act(async () => record && confirmation.approve(record.token, session.sessionId))}
      onReject={() =>
        act(async () => record && confirmation.reject(record.token, session.sessionId, 'A person rejected it.'))
      }
      onWithdraw={() => act(withdraw)}
      onRan={() => act(() => reconcile(true))}
      onDidNotRun={() => act(() => reconcile(false))}
    />
  )
}
