import { useState, useSyncExternalStore } from 'react'
import { isRejoinError, SessionConflictError } from 'rejoin'
import { useClaims, useConfirmations, useRejoinStatus } from 'rejoin/react'
import { Announcer } from './announcer.tsx'
import { Composer } from './composer.tsx'
import type { ConnectedChat } from './connect-chat.ts'
import { MessageLog } from './message-log.tsx'
import { ProblemNote } from './problem-note.tsx'
import { RefundCard } from './refund-card.tsx'
import { REFUND_TOOL } from './refund-desk.ts'
import { type ChatOptions, useChat } from './use-chat.ts'
import { useNow } from './use-now.ts'

export function ChatView(options: ChatOptions) {
  const opened = useChat(options)
  if (opened.state === 'opening') return <p className="quiet chat-opening">Opening the chat …</p>
  if (opened.state === 'failed') {
    return (
      <div className="chat-opening">
        <ProblemNote problem={opened.error} />
        <button type="button" className="plain" onClick={opened.retry}>
          Try again
        </button>
      </div>
    )
  }
  return <OpenChat chat={opened.chat} options={options} />
}

function OpenChat({ chat, options }: { readonly chat: ConnectedChat; readonly options: ChatOptions }) {
  const { session, controller, confirmation } = chat
  const { rejoin } = options
  const state = useSyncExternalStore(controller.subscribe, controller.getState)
  const conversation = useSyncExternalStore(session.subscribe, session.getConversationSnapshot)
  const confirmations = useConfirmations(session)
  const claims = useClaims(rejoin)
  const { clockOffsetMs } = useRejoinStatus(rejoin)
  const [problem, setProblem] = useState<unknown>()
  const now = useNow(confirmations.some((each) => each.status === 'pending')) + clockOffsetMs
  const nextSteps = conversation?.actions.length ? conversation.actions : ['/order']

  /** Tells here what goes wrong, except what the card of a confirmation tells. */
  function attempt(action: Promise<unknown>): void {
    setProblem(undefined)
    action.catch((error: unknown) => {
      const onCard = error instanceof SessionConflictError || isRejoinError(error, 'claim-queued')
      if (!onCard) setProblem(error)
    })
  }

  function proposeRefund() {
    const input = { refundId: crypto.randomUUID(), order: 'A-1042', euros: 25 }
    return confirmation.propose({ name: REFUND_TOOL, input })
  }

  async function send(text: string): Promise<void> {
    await controller.send(text)
    if (text === '/refund') await proposeRefund()
  }

  return (
    <>
      <p className="conversation-state">
        State <b data-testid="conversation-state">{conversation?.state}</b>
      </p>
      <MessageLog
        messages={state.messages}
        renderCall={(call) => (
          <RefundCard
            call={call}
            record={confirmations.find((each) => each.toolCallId === call.id)}
            claim={claims.find((each) => each.toolCallId === call.id && each.sessionId === session.sessionId)}
            now={now}
            rejoin={rejoin}
            chat={chat}
            attempt={attempt}
          />
        )}
      />
      <Announcer messages={state.messages} />
      {problem !== undefined && <ProblemNote problem={problem} onDismiss={() => setProblem(undefined)} />}
      <Composer
        input={state.input}
        streaming={state.status === 'streaming'}
        commands={['/help', ...nextSteps, '/refund']}
        onInput={controller.setInput}
        onSend={(text) => attempt(send(text))}
        onStop={controller.stop}
        onPropose={() => attempt(proposeRefund())}
      />
    </>
  )
}
