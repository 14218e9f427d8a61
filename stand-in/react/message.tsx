import type { Message as ChatMessage } from '../../src/contract/chat-message.ts'

/** The text of a message, with its role for whoever styles it. */
export function Message({ message }: { readonly message: ChatMessage }) {
  return (
    <div data-role={message.role} data-status={message.status}>
      {message.content}
    </div>
  )
}
