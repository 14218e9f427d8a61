import type { ToolCall } from '../../src/contract/chat-message.ts'

export interface ToolConfirmationProps {
  readonly toolCall: ToolCall
  readonly onApprove: (toolCallId: string) => void
  readonly onDeny: (toolCallId: string, reason?: string) => void
}

/** Asks a person about a call for as long as it waits. */
export function ToolConfirmation({ toolCall, onApprove, onDeny }: ToolConfirmationProps) {
  if (toolCall.status !== 'requires_confirmation') return null
  return (
    <fieldset>
      <legend>{toolCall.name}</legend>
      <pre>{JSON.stringify(toolCall.args, null, 2)}</pre>
      <button type="button" onClick={() => onApprove(toolCall.id)}>
        Approve
      </button>
      <button type="button" onClick={() => onDeny(toolCall.id)}>
        Deny
      </button>
    </fieldset>
  )
}
