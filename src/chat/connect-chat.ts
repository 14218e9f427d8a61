import type { ChatConfig, ChatController } from '../contract/chat.ts'
import type { ChatMemory } from '../contract/chat-memory.ts'
import type { Message } from '../contract/chat-message.ts'
import type { LiveSessionStorage } from '../contract/live-session-storage.ts'
import { RejoinError } from '../errors.ts'
import type { SessionMessages } from '../messages/session-messages.ts'
import type { ActionConfirmation } from '../session/action-confirmation.ts'
import type { ChatSession } from '../session/chat-session.ts'
import type { ActionConfirmationCoordinator } from '../session/confirmation-coordinator.ts'
import type { ChatDefinition } from '../session/definition.ts'
import { resumeChatSession } from '../session/resume-chat-session.ts'
import type { ChatToConfirm } from '../session/run-decision.ts'
import { awaitRecord } from './await-record.ts'
import { followMemory } from './follow-memory.ts'
import { mergeRemoteMessages } from './merge-remote-messages.ts'

export interface ConnectChatOptions<D extends ChatConfig, C extends ChatController> {
  readonly rejoin: {
    readonly storage: LiveSessionStorage
    readonly memory: (sessionId: string) => ChatMemory
    readonly messages: (sessionId: string) => SessionMessages
  }
  readonly sessionId: string
  /** Without a memory: the session's messages take its place. */
  readonly definition: ChatDefinition<D>
  /** `createChatController` of `@agentskit/core`. */
  readonly createController: (config: D & ControllerParts) => C
  /** How long a person may approve an action, ms. Default 300 000. */
  readonly ttlMs?: number
  /** Hears why a call that the model made could not be put before a person; the call is denied then. */
  readonly onError?: (error: unknown) => void
}

export interface ControllerParts {
  readonly memory: ChatMemory
  readonly initialMessages: Message[]
}

/** A chat of AgentsKit whose session, messages and confirmations are Rejoin's. */
export interface ConnectedChat<D extends ChatConfig = ChatConfig, C extends ChatController = ChatController> {
  readonly session: ChatSession<D>
  /** Its own `approve` and `deny` would run an action without asking whether somebody else did: use those below. */
  readonly controller: C
  readonly confirmation: ActionConfirmationCoordinator
  /**
   * Runs the action of a tool call, once among all tabs and devices: `confirmation.approve` by the id of the call.
   *
   * @throws RejoinError `nothing-to-run` for a call that was never put before a person, or whose confirmation has not
   * arrived within 2 s; else as `confirmation.approve` does.
   */
  readonly approve: (toolCallId: string) => Promise<ActionConfirmation>
  /** Denies the action. Otherwise like `approve`. */
  readonly deny: (toolCallId: string, reason?: string) => Promise<ActionConfirmation>
  /** Stops what streams. An action that runs goes on: its outcome must still be seen. */
  readonly close: () => void
}

/**
 * Resumes a session and connects a controller to it, in the order that loses nothing: the whole history first, then the
 * session's state, then the controller, and only then what changes elsewhere. The controller has no way to be told by
 * its memory, so changes of other tabs and devices are put into it with `setMessages`. A call that its model makes and
 * that needs a confirmation is put before a person.
 *
 * @throws as `resumeChatSession` and `messages.whenLoaded` do.
 */
export async function connectChat<D extends ChatConfig, C extends ChatController>({
  rejoin,
  sessionId,
  definition,
  createController,
  ttlMs,
  onError,
}: ConnectChatOptions<D, C>): Promise<ConnectedChat<D, C>> {
  const stored = rejoin.messages(sessionId)
  await stored.whenLoaded()
  /** Message objects that are stored as they are. */
  const known = new WeakSet<Message>()
  /** Messages that others wrote, or this chat before it was opened. One that was made here stays so. */
  const fedIds = new Set<string>()
  const madeHere = new Set<string>()
  const handedOut = (messages: readonly Message[]) => {
    for (const message of messages) {
      known.add(message)
      if (!madeHere.has(message.id)) fedIds.add(message.id)
    }
  }
  const adopted = new Set<string>()
  const adopting = new Set<Promise<unknown>>()
  /** Calls that this chat was told to decide. */
  const deciding = new Set<string>()
  let closed = false

  const followed = followMemory(rejoin.memory(sessionId), (messages) => {
    for (const message of messages) known.add(message)
    // Not within the controller's own handling of its save.
    queueMicrotask(feed)
  })
  const { memory } = followed
  const chat = { ...definition.chat, memory }
  const session = await resumeChatSession({ ...definition, chat }, { sessionId, storage: rejoin.storage })
  const { controller, confirmation } = await connect().catch((error: unknown) => {
    session.close()
    throw error
  })

  async function connect() {
    const initialMessages = await memory.load()
    handedOut(initialMessages)
    const controller = createController({ ...session.chat, initialMessages })
    const confirmation = session.createConfirmation({
      chat: decidingEveryTurn(controller, deciding),
      ...(ttlMs !== undefined && { ttlMs }),
    })
    return { controller, confirmation }
  }

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

  /** Only of messages that were made here: whoever else made a call puts it before a person where it was made. */
  function adoptCalls(): void {
    for (const { id, status, toolCalls = [] } of controller.getState().messages) {
      if (fedIds.has(id)) continue
      madeHere.add(id)
      if (status === 'streaming') continue
      for (const call of toolCalls) {
        const key = `${id} ${call.id}`
        if (call.status !== 'requires_confirmation' || adopted.has(key)) continue
        adopted.add(key)
        const adoption = confirmation.adopt(call).catch((error: unknown) => onError?.(error))
        adopting.add(adoption)
        void adoption.finally(() => adopting.delete(adoption))
      }
    }
  }

  function runsHere({ id, toolCalls = [] }: Message): boolean {
    const running = toolCalls.filter((call) => call.status === 'running')
    return running.some((call) => deciding.has(call.id)) || (running.length > 0 && !fedIds.has(id))
  }

  async function tokenOf(toolCallId: string): Promise<string> {
    const record = await awaitRecord(session, toolCallId)
    if (record) return record.token
    throw new RejoinError('nothing-to-run', 'No confirmation is known for this tool call; nothing ran.', {
      hint: 'It may still be on its way from where the call was made. If it never comes, ask for the action again.',
    })
  }

  const ends = [stored.subscribe(feed), controller.subscribe(adoptCalls), followed.saveChanges(controller)]
  feed()
  return {
    session,
    controller,
    confirmation,
    approve: async (toolCallId) => confirmation.approve(await tokenOf(toolCallId), sessionId),
    deny: async (toolCallId, reason) => confirmation.reject(await tokenOf(toolCallId), sessionId, reason),
    close: () => {
      closed = true
      const { status, messages } = controller.getState()
      // Without a stream of its own, `stop` would only end what others write into the list. Its end is saved still.
      if (status === 'streaming' && !messages.some(runsHere)) controller.stop()
      for (const end of ends) end()
      // A call of the model without its confirmation could never be decided.
      void Promise.all(adopting).then(session.close)
    },
  }
}

/** From core 1.15 `approve` and `deny` are for calls of the present turn, and `decide` is for those of every turn. */
function decidingEveryTurn(controller: ChatController, deciding: Set<string>): ChatToConfirm {
  async function during(toolCallId: string, act: () => unknown): Promise<void> {
    deciding.add(toolCallId)
    try {
      await act()
    } finally {
      deciding.delete(toolCallId)
    }
  }
  return {
    getState: () => controller.getState(),
    proposeToolCall: (proposal) => controller.proposeToolCall(proposal),
    approve: (id) => during(id, () => controller.decide?.(id, 'approve') ?? controller.approve(id)),
    deny: (id, why) => during(id, () => controller.decide?.(id, 'deny', why) ?? controller.deny(id, why)),
  }
}
