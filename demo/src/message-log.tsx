import type { Message } from '@agentskit/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { visibleMessages } from './visible-messages.ts'

export interface MessageLogProps {
  readonly messages: readonly Message[]
  readonly renderCall: (call: NonNullable<Message['toolCalls']>[number]) => ReactNode
}

const NEAR_END_PX = 80

export function MessageLog({ messages, renderCall }: MessageLogProps) {
  const log = useRef<HTMLOListElement>(null)
  const atEnd = useRef(true)
  const items = visibleMessages(messages)

  // After every render: a card grows without a new message.
  useEffect(() => {
    const element = log.current
    if (element && atEnd.current) element.scrollTop = element.scrollHeight
  })

  return (
    <ol
      ref={log}
      className="log"
      aria-label="Conversation"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard.
      tabIndex={0}
      data-testid="message-log"
      onScroll={({ currentTarget: element }) => {
        atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END_PX
      }}
    >
      {items.length === 0 && <li className="quiet">Say something, or try a command below.</li>}
      {items.map((item) =>
        item.kind === 'call' ? (
          <li key={item.key}>{renderCall(item.call)}</li>
        ) : (
          <Words key={item.key} message={item.message} />
        ),
      )}
    </ol>
  )
}

function Words({ message: { id, role, status, content, metadata } }: { readonly message: Message }) {
  return (
    <li
      className={`message message-${role}`}
      aria-busy={status === 'streaming'}
      data-testid="message"
      data-message={id}
      data-role={role}
      data-status={status}
    >
      <span className="hidden">{role === 'user' ? 'You: ' : 'Assistant: '}</span>
      <span data-testid="message-text">{content}</span>
      {status === 'streaming' && <span className="caret" aria-hidden="true" />}
      {metadata?.interrupted === true && <span className="message-note"> Interrupted.</span>}
      {status === 'error' && <span className="message-error"> The answer ended with an error.</span>}
    </li>
  )
}
