import type { ChatReturn } from '../core/chat-config.ts'

export interface InputBarProps {
  readonly chat: ChatReturn
  readonly placeholder?: string
  readonly disabled?: boolean
}

/** What a person types, and the way to send it; closed while an answer streams. */
export function InputBar({ chat, placeholder = 'Message', disabled = false }: InputBarProps) {
  const closed = disabled || chat.status === 'streaming'
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (!closed && chat.input.trim() !== '') void chat.send(chat.input)
      }}
    >
      <input
        aria-label={placeholder}
        value={chat.input}
        disabled={closed}
        onChange={({ currentTarget }) => chat.setInput(currentTarget.value)}
      />
      <button type="submit" disabled={closed}>
        Send
      </button>
    </form>
  )
}
