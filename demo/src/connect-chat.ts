import { type ChatController, type ChatMemory, createChatController, type Message } from '@agentskit/core'
import {
  type ActionConfirmationCoordinator,
  type ChatDefinition,
  type ChatSession,
  type Rejoin,
  resumeChatSession,
} from 'rejoin'
import { mergeRemoteMessages } from './merge-remote-messages.ts'

export interface ConnectChatOptions {
  readonly rejoin: Rejoin
  readonly sessionId: string
  readonly define: (memory: ChatMemory) => ChatDefinition
}

/** A chat of AgentsKit whose session, messages and confirmations are Rejoin's. */
export interface ConnectedChat {
  readonly session: ChatSession
  readonly controller: ChatController
  readonly confirmation: ActionConfirmationCoordinator
  /** Stops what streams. An action that runs goes on: its outcome must still be seen. */
  readonly close: () => void
}

/**
 * Resumes a session and connects a controller to it, in the order that loses nothing: the whole history first, then the
 * session's state, then the controller, and only then what changes elsewhere. The controller has no way to be told by
 * its memory, so changes of other tabs and devices are put into it with `setMessages`.
 */
export async function connectChat({ rejoin, sessionId, define }: ConnectChatOptions): Promise<ConnectedChat> {
  const stored = rejoin.messages(sessionId)
  await stored.whenLoaded()
  const known = new WeakSet<Message>()
  const fedIds = new Set<string>()
  const handedOut = (messages: readonly Message[]) => {
    for (const message of messages) {
      known.add(message)
      fedIds.add(message.id)
    }
  }

  const memory = watchSaves(rejoin.memory(sessionId), (messages) => {
    for (const message of messages) known.add(message)
    // The controller's next save starts right after this one; look when it has.
    setTimeout(feed)
  })
  const session = await resumeChatSession(define(memory), { sessionId, storage: rejoin.storage })
  const initialMessages = await memory.load()
  handedOut(initialMessages)
  const controller = createChatController({ ...session.chat, initialMessages })
  const confirmation = session.createConfirmation({ chat: controller })
  let closed = false

  function feed(): void {
    if (closed) return
    const remote = stored.get()
    const merged = mergeRemoteMessages(
      {
        messages: controller.getState().messages,
        unsaved: (message) => !known.has(message),
        streamsHere: (message) => message.status === 'streaming' && !fedIds.has(message.id),
      },
      remote,
    )
    if (!merged) return
    const shown = new Set(merged)
    handedOut(remote.filter((message) => shown.has(message)))
    controller.setMessages(merged)
  }

  const unsubscribe = stored.subscribe(feed)
  feed()
  return {
    session,
    controller,
    confirmation,
    close: () => {
      closed = true
      unsubscribe()
      session.close()
      const { status, messages } = controller.getState()
      // Without a stream of its own, `stop` would only end what others write into the list.
      if (status === 'streaming' && !runsAction(messages)) controller.stop()
    },
  }
}

function runsAction(messages: readonly Message[]): boolean {
  return messages.some(({ toolCalls = [] }) => toolCalls.some((call) => call.status === 'running'))
}

/** The same memory, which also tells what it has stored. */
function watchSaves(memory: ChatMemory, saved: (messages: readonly Message[]) => void): ChatMemory {
  return {
    ...memory,
    save: async (messages, options) => {
      await memory.save(messages, options)
      saved(messages)
    },
  }
}
