import type { AdapterFactory, AdapterRequest, StreamChunk, StreamSource } from '../../../src/contract/chat.ts'
import type { Message, ToolCall, ToolCallStatus } from '../../../src/contract/chat-message.ts'
import { commandRoute } from '../../../src/session/command-route.ts'
import type { ConversationDefinition } from '../../../src/session/conversation.ts'
import type { ChatDefinition } from '../../../src/session/definition.ts'

export interface ScriptedAdapter extends AdapterFactory {
  readonly requests: AdapterRequest[]
}

/** A model that answers `model` and keeps what it was asked. */
export function scriptedAdapter(): ScriptedAdapter {
  const requests: AdapterRequest[] = []
  return {
    requests,
    createSource(request) {
      requests.push(request)
      return {
        async *stream() {
          yield { type: 'text', content: 'model' }
          yield { type: 'done' }
        },
        abort() {},
      }
    },
  }
}

export function user(content: string, id = 'user-1'): Message {
  return { id, role: 'user', content, status: 'complete', createdAt: new Date(0) }
}

export function asked(...messages: Message[]): AdapterRequest {
  return { messages }
}

export async function read(source: StreamSource): Promise<StreamChunk[]> {
  const chunks: StreamChunk[] = []
  for await (const chunk of source.stream()) chunks.push(chunk)
  return chunks
}

/** idle → active → done, with a command that is answered everywhere and changes nothing. */
export const CONVERSATION: ConversationDefinition = {
  initial: 'idle',
  states: {
    idle: { on: { start: 'active', help: 'idle' }, actions: ['begin'] },
    active: { on: { finish: 'done', help: 'active' } },
    done: { on: { again: 'idle', help: 'done' } },
  },
  routes: [
    commandRoute({ id: 'start', command: '/start', event: 'start', response: () => 'Started' }),
    commandRoute({ id: 'finish', command: '/finish', event: 'finish', response: () => 'Finished' }),
    commandRoute({ id: 'again', command: '/again', event: 'again', response: () => 'Again' }),
    commandRoute({ id: 'help', command: '/help', event: 'help', response: () => 'Help' }),
  ],
}

export function chatDefinition(change: Partial<ChatDefinition> = {}): ChatDefinition {
  return { id: 'support', chat: { adapter: scriptedAdapter() }, conversation: CONVERSATION, ...change }
}

export interface FakeChat {
  readonly proposeToolCall: (proposal: { id: string; name: string; args: Record<string, unknown> }) => Promise<ToolCall>
  readonly approve: (toolCallId: string) => Promise<void>
  readonly deny: (toolCallId: string, reason?: string) => Promise<void>
  /** `approve <id>` and `deny <id> <reason>` as they were called. */
  readonly calls: string[]
  /** Makes the next approve or deny reject. */
  failNext: Error | undefined
}

/** A chat that shows no state: what an upstream binding hands out, as far as a coordinator sees it. */
export function fakeChat(): FakeChat {
  async function run(call: string): Promise<void> {
    chat.calls.push(call)
    const failure = chat.failNext
    chat.failNext = undefined
    if (failure) throw failure
  }
  const chat: FakeChat = {
    calls: [],
    failNext: undefined,
    proposeToolCall: async (proposal) => ({ ...proposal, status: 'requires_confirmation' }),
    approve: (id) => run(`approve ${id}`),
    deny: (id, reason) => run(`deny ${id}${reason === undefined ? '' : ` ${reason}`}`),
  }
  return chat
}

export interface ShowingChat extends FakeChat {
  readonly getState: () => { readonly messages: readonly Message[] }
  readonly set: (toolCallId: string, status: ToolCallStatus) => void
}

/** A chat that shows its calls, and does nothing for one that does not wait. Effects are the calls it made. */
export function showingChat(): ShowingChat {
  const statuses = new Map<string, ToolCallStatus>()
  const fake = fakeChat()
  const chat: ShowingChat = Object.assign(fake, {
    getState: () => ({
      messages: [...statuses].map(([id, status]) => ({
        id: `message-${id}`,
        role: 'assistant' as const,
        content: '',
        status: 'complete' as const,
        createdAt: new Date(0),
        toolCalls: [{ id, name: 'refund', args: {}, status }],
      })),
    }),
    set: (id: string, status: ToolCallStatus) => {
      statuses.set(id, status)
    },
  })
  const { proposeToolCall, approve, deny } = fake
  return Object.assign(chat, {
    proposeToolCall: async (proposal: Parameters<FakeChat['proposeToolCall']>[0]) => {
      const call = await proposeToolCall(proposal)
      statuses.set(call.id, call.status)
      return call
    },
    approve: async (id: string) => {
      if (statuses.get(id) !== 'requires_confirmation') return
      await approve(id)
      statuses.set(id, 'complete')
    },
    deny: async (id: string, reason?: string) => {
      if (statuses.get(id) !== 'requires_confirmation') return
      await deny(id, reason)
      statuses.set(id, 'error')
    },
  })
}

export function rejected(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('expected a rejection')
    },
    (error: unknown) => error,
  )
}
