import type { ChatConfig, ChatController } from '../contract/chat.ts'
import type { ChatMemory } from '../contract/chat-memory.ts'
import type { Message } from '../contract/chat-message.ts'
import type { LiveSessionStorage } from '../contract/live-session-storage.ts'
import { isRejoinError, RejoinError } from '../errors.ts'
import type { Caller } from '../messages/lineage.ts'
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
import { createOwnMessages } from './own-messages.ts'

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
  /** Hears why a call that the model made could not be put before a person (it is denied then), and what else fails. */
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
  const own = createOwnMessages()
  const caller: Caller = { knows: [] }
  const adopted = new Set<string>()
  const adopting = new Set<Promise<unknown>>()
  /** Calls that this chat was told to decide. */
  const deciding = new Set<string>()
  const life = new AbortController()
  let fed: C | undefined
  let feedWaits = false

  const followed = followMemory(rejoin.memory(sessionId), {
    caller,
    onLoaded: own.loaded,
    onSaved: (messages) => {
      own.saved(messages)
      feedSoon()
    },
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
    own.handedOut(initialMessages)
    caller.knows = initialMessages
    const controller = createController({ ...session.chat, initialMessages })
    const confirmation = session.createConfirmation({
      chat: decidingEveryTurn(controller, deciding),
      ...(ttlMs !== undefined && { ttlMs }),
    })
    return { controller, confirmation }
  }

  /** Not within the controller's own handling of its save or its change. */
  function feedSoon(): void {
    if (feedWaits) return
    feedWaits = true
    queueMicrotask(() => {
      feedWaits = false
      feed()
    })
  }

  function feed(): void {
    if (life.signal.aborted || !fed) return
    const remote = stored.get()
    if (remote.length > 0 || fed.getState().messages.length === 0) take(remote)
    else
      isEmpty()
        .then((empty) => empty && take([]))
        .catch((error: unknown) => onError?.(error))
  }

  /** A document that was closed shows nothing either, which says nothing of its messages. */
  function isEmpty(): Promise<boolean> {
    if (isRejoinError(stored.problem(), 'deleted')) return Promise.resolve(true)
    return stored.whenLoaded().then(
      () => stored.get().length === 0,
      () => false,
    )
  }

  function take(remote: readonly Message[]): void {
    if (life.signal.aborted || !fed) return
    const merged = mergeRemoteMessages({ messages: fed.getState().messages, ...own }, remote)
    if (!merged) return
    const shown = new Set(merged)
    own.handedOut(remote.filter((message) => shown.has(message)))
    own.give(merged)
    caller.knows = own.knows(merged, caller.knows)
    fed.setMessages(merged)
  }

  /** Only of messages that were made here: whoever else made a call puts it before a person where it was made. */
  function takeNotice(): void {
    const { messages } = controller.getState()
    for (const { id, status, toolCalls = [] } of own.look(messages)) {
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
    if (messages.some(own.isAbandoned)) feedSoon()
  }

  function runsHere(message: Message): boolean {
    const running = (message.toolCalls ?? []).filter((call) => call.status === 'running')
    return running.some((call) => deciding.has(call.id)) || (running.length > 0 && own.isMadeHere(message))
  }

  async function tokenOf(toolCallId: string): Promise<string> {
    const record = await awaitRecord(session, toolCallId, life.signal)
    if (life.signal.aborted) throw new RejoinError('closed', 'The chat was closed.', { hint: 'Open it again.' })
    if (record) return record.token
    throw new RejoinError('nothing-to-run', 'No confirmation is known for this tool call; nothing ran.', {
      hint: 'It may still be on its way from where the call was made. If it never comes, ask for the action again.',
    })
  }

  fed = controller
  const ends = [stored.subscribe(feed), controller.subscribe(takeNotice), followed.saveChanges(controller)]
  takeNotice()
  feed()
  return {
    session,
    controller,
    confirmation,
    approve: async (toolCallId) => confirmation.approve(await tokenOf(toolCallId), sessionId),
    deny: async (toolCallId, reason) => confirmation.reject(await tokenOf(toolCallId), sessionId, reason),
    close: () => {
      life.abort()
      const { status, messages } = controller.getState()
      // Without a stream of its own, `stop` would only end what others write into the list. Its end is saved still.
      if (status === 'streaming' && !messages.some(runsHere)) controller.stop()
      for (const end of ends) end()
      // A call of the model without its confirmation could never be decided.
      void Promise.allSettled(adopting).then(session.close)
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
    approve: (id) => during(id, () => (controller.decide ? controller.decide(id, 'approve') : controller.approve(id))),
    deny: (id, why) =>
      during(id, () => (controller.decide ? controller.decide(id, 'deny', why) : controller.deny(id, why))),
  }
}
