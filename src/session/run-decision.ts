import type { ConfirmableChat } from '../contract/chat.ts'
import type { Message, ToolCallStatus } from '../contract/chat-message.ts'
import { RejoinError } from '../errors.ts'
import type { Want } from './action-confirmation.ts'
import type { Permissions } from './permissions.ts'

/**
 * What a coordinator needs of a chat. With `getState`, as AgentsKit's controller has it, an approval that ran nothing
 * is noticed here. The `messages` of a React binding are not enough for that: they are those of one render.
 */
export interface ChatToConfirm extends ConfirmableChat {
  readonly getState?: () => { readonly messages: readonly Message[] }
}

export interface DecisionToRun {
  readonly toolCallId: string
  readonly want: Want
  /** Why it is rejected, for the model. */
  readonly reason?: string | undefined
}

/**
 * Carries a decision out. A controller that has no such call waiting does nothing and says nothing, therefore the call
 * is looked at before and after. `ran` from a chat that does not show its state is the chat's word alone. A denial needs
 * no call: with the message that asked, everything that could run is gone.
 */
export async function runDecision(
  chat: ChatToConfirm,
  decision: DecisionToRun,
  permissions: Permissions,
): Promise<'ran' | 'nothing-to-run'> {
  const { toolCallId, want, reason } = decision
  if (waits(chat, toolCallId) === false) return want === 'approving' ? 'nothing-to-run' : 'ran'
  if (want === 'approving') await permissions.hold(toolCallId, 'approve', async () => chat.approve(toolCallId))
  else {
    const why = want === 'expiring' ? 'confirmation expired' : reason
    await permissions.hold(toolCallId, 'deny', async () => chat.deny(toolCallId, why))
  }
  return want !== 'expiring' && waits(chat, toolCallId) === true ? 'nothing-to-run' : 'ran'
}

/** Whether the chat has the call waiting for a decision; `undefined` if it does not show its messages. */
export function waits(chat: ChatToConfirm, toolCallId: string): boolean | undefined {
  if (!chat.getState) return undefined
  return statusOf(chat.getState().messages, toolCallId) === 'requires_confirmation'
}

export function nothingToRun(): RejoinError {
  return new RejoinError('nothing-to-run', 'The chat has no such tool call waiting for a decision; nothing ran.', {
    hint: 'The message may not have arrived yet, or the call was decided in the chat itself. Load the messages into the chat, then decide again.',
  })
}

function statusOf(messages: readonly Message[], toolCallId: string): ToolCallStatus | undefined {
  for (const { toolCalls = [] } of messages) {
    const call = toolCalls.find(({ id }) => id === toolCallId)
    if (call) return call.status
  }
  return undefined
}
