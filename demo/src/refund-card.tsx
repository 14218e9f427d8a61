import type { ToolCall } from '@agentskit/core'
import { useState } from 'react'
import type { ActionConfirmation, ClaimInfo } from 'rejoin'
import { cardState } from './card-state.ts'
import { ConfirmationCard } from './confirmation-card.tsx'
import type { ConnectedChat } from './connect-chat.ts'

export interface RefundCardProps {
  readonly call: ToolCall
  readonly record: ActionConfirmation | undefined
  readonly claims: readonly ClaimInfo[]
  readonly now: number
  readonly chat: ConnectedChat
  /** Shows what went wrong, if something does. */
  readonly attempt: (action: Promise<unknown>) => void
}
