import { createChatController, type Message } from '@agentskit/core'
import { type ConnectedChat, connectChat, openRejoin, type Rejoin, type SessionSnapshot } from 'rejoin'
import { REFUND_TOOL, refundDesk } from '../../../demo/src/refund-desk.ts'
import { createFedModel } from './fed-model.ts'
import type { DefinitionOptions, Harness, ShownMessage } from './harness.ts'
import { raceSaves } from './race-saves.ts'

const model = createFedModel()
const errors: string[] = []
let opened: { readonly rejoin: Rejoin; readonly label: string } | undefined
let connected: ConnectedChat | undefined

const harness: Harness = {
  open: async (options) => {
    const { label } = options
    const rejoin = await openRejoin({ account: 'local', ...options, onError: (error) => errors.push(String(error)) })
    opened = { rejoin, label }
  },
  close: async () => {
    connected?.close()
    await device().rejoin.close()
  },
  chat: (sessionId, definition) => outcomeOf(() => connect(sessionId, definition)),
  send: (text) => chat().controller.send(text),
  ask: async (text) => {
    const asked = model.expectFeeding()
    chat()
      .controller.send(text)
      .catch((error: unknown) => errors.push(String(error)))
    await asked
  },
  token: model.feed,
  endAnswer: model.end,
  propose: async (refundId) => {
    const input = { refundId, order: 'A-1042', euros: 25 }
    return (await chat().confirmation.propose({ name: REFUND_TOOL, input })).token
  },
  approve: (token) => outcomeOf(() => statusOf(chat().confirmation.approve(token, chat().session.sessionId))),
  reject: (token) => outcomeOf(() => statusOf(chat().confirmation.reject(token, chat().session.sessionId))),
  releaseClaim: async (token) => {
    const { attention } = device().rejoin
    for (const item of attention.get()) {
      if (item.kind === 'claim' && item.token === token) await attention.release(item.claimId)
    }
  },
  view: () => {
    const { rejoin } = device()
    const sessionId = connected?.session.sessionId
    return {
      chat: (connected?.controller.getState().messages ?? []).map(shown),
      messages: sessionId === undefined ? [] : rejoin.messages(sessionId).get().map(shown),
      state: connected?.session.getConversationSnapshot()?.state,
      confirmations: connected?.session.getConfirmations() ?? [],
      claims: rejoin.claims.get(),
      attention: rejoin.attention.get(),
      status: rejoin.status.get(),
      sessions: rejoin.sessions.get(),
      problem: connected?.session.getProblem()?.message,
      errors,
    }
  },
  retryNow: () => device().rejoin.retryNow(),
  stored: async () => {
    const { session } = chat()
    await device().rejoin.messages(session.sessionId).whenStored()
    // Saves are made in order, and there is nothing to save for a turn that nobody holds.
    await session.releaseTurn('no-turn', 'completed')
  },
  load: async (sessionId) => (await device().rejoin.storage.load(sessionId)) as SessionSnapshot | undefined,
  save: (snapshot, expectedCursor) => outcomeOf(async () => device().rejoin.storage.save(snapshot, expectedCursor)),
  remove: async (sessionId) => device().rejoin.storage.delete?.(sessionId),
  race: (sessionId, rounds) => raceSaves(device().rejoin.storage, sessionId, rounds),
}
Object.defineProperty(window, 'harness', { value: harness })

function device() {
  if (!opened) throw new Error('Open the harness first.')
  return opened
}

function chat(): ConnectedChat {
  if (!connected) throw new Error('Open a chat first.')
  return connected
}

async function connect(sessionId: string, definition: DefinitionOptions = {}): Promise<string> {
  const { rejoin, label } = device()
  connected?.close()
  connected = await connectChat({
    rejoin,
    sessionId,
    createController: createChatController,
    definition: { ...refundDesk({ adapter: model.adapter, refund }), ...definition },
  })
  return 'open'

  async function refund({ refundId, euros, order }: { refundId: string; euros: number; order: string }) {
    await window.runEffect({ refundId, device: label })
    return `Refunded ${euros} € for order ${order}.`
  }
}

async function statusOf(operation: Promise<{ readonly status: string }>): Promise<string> {
  return (await operation).status
}

async function outcomeOf<T>(operation: () => Promise<T>): Promise<T | string> {
  try {
    return await operation()
  } catch (error) {
    const { code, name } = error as { code?: string; name?: string }
    return code ?? name ?? String(error)
  }
}

function shown({ id, role, content, status, toolCalls }: Message): ShownMessage {
  const calls = toolCalls && Object.fromEntries(toolCalls.map((call) => [call.id, call.status]))
  return { id, role, content, status, ...(calls && { calls }) }
}
