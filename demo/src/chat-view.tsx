import { useState, useSyncExternalStore } from 'react'
import { isRejoinError, SessionConflictError } from 'rejoin'
import { useClaims, useRejoinStatus } from 'rejoin/react'
import { Announcer } from './announcer.tsx'
import { Composer } from './composer.tsx'
import { MessageLog } from './message-log.tsx'
import { ProblemNote } from './problem-note.tsx'
import { RefundCard } from './refund-card.tsx'
import { REFUND_TOOL } from './refund-desk.ts'
import { type ChatOptions, type OpenedChat, useChat } from './use-chat.ts'
import { useNow } from './use-now.ts'

export function ChatView(options: ChatOptions) {
  const opened = useChat(options)
  if (opened.state === 'opening') return <p className="quiet chat-opening">Opening the chat …</p>
  if (opened.state === 'failed') {
    return (
      <div className="chat-opening">
        <ProblemNote problem={opened.problem} />
        <button type="button" className="plain" onClick={opened.retry}>
          Try again
        </button>
      </div>
    )
  }
  return <OpenChat opened={opened} options={options} />
}

function OpenChat({ opened, options }: { readonly opened: OpenedChat; readonly options: ChatOptions }) {
  const { chat, connected, confirmations } = opened
  const { session, confirmation } = connected
  const { rejoin } = options
  const conversation = useSyncExternalStore(session.subscribe, session.getConversationSnapshot)
  const claims = useClaims(rejoin)
  const { clockOffsetMs } = useRejoinStatus(rejoin)
  const [problem, setProblem] = useState<unknown>()
  /** The call that this page asked for last: its card is what whoever asked looks for. */
  const [askedFor, setAskedFor] = useState<string>()
  const shownProblem = problem ?? opened.problem
  const now = useNow(confirmations.some((each) => each.status === 'pending')) + clockOffsetMs
  const nextSteps = conversation?.actions.length ? conversation.actions : ['/order']

  function dismiss(): void {
    setProblem(undefined)
    opened.dismissProblem()
  }

  /** Tells here what goes wrong, except what the card of a confirmation tells. */
  function attempt(action: Promise<unknown>): void {
    setProblem(undefined)
    action.catch((error: unknown) => {
      const onCard = error instanceof SessionConflictError || isRejoinError(error, 'claim-queued')
      if (!onCard) setProblem(error)
    })
  }

  async function proposeRefund(): Promise<void> {
    const input = { refundId: crypto.randomUUID(), order: 'A-1042', euros: 25 }
    const { toolCallId } = await confirmation.propose({ name: REFUND_TOOL, input })
    setAskedFor(toolCallId)
  }

  async function send(text: string): Promise<void> {
    await chat.send(text)
    if (text === '/refund') return proposeRefund()
    const { messages } = connected.controller.getState()
    const call = messages.at(-1)?.toolCalls?.at(-1)
    if (call) setAskedFor(call.id)
  }

  return (
    <>
      <p className="conversation-state">
        State <b data-testid="conversation-state">{conversation?.state}</b>
      </p>
      <MessageLog
        messages={chat.messages}
        renderCall={(call) => (
          <RefundCard
            call={call}
            record={confirmations.find((each) => each.toolCallId === call.id)}
            claim={claims.find((each) => each.toolCallId === call.id && each.sessionId === session.sessionId)}
            now={now}
            askedFor={call.id === askedFor}
            rejoin={rejoin}
            connected={connected}
            attempt={attempt}
          />
        )}
      />
      <Announcer messages={chat.messages} />
      {shownProblem !== undefined && <ProblemNote problem={shownProblem} onDismiss={dismiss} />}
      <Composer
        input={chat.input}
        streaming={chat.status === 'streaming'}
        commands={['/help', ...nextSteps, '/refund']}
        onInput={chat.setInput}
        onSend={(text) => attempt(send(text))}
        onStop={chat.stop}
        onPropose={() => attempt(proposeRefund())}
      />
    </>
  )
}
