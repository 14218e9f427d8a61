import { isBoundedJsonObject, type JsonBounds } from '../../src/contract/bounded-json.ts'
import type { ToolProposal } from '../../src/contract/chat.ts'
import type { Message, ToolCall } from '../../src/contract/chat-message.ts'
import { isSafeId } from '../../src/contract/safe-id.ts'
import { buildMessage } from './build-message.ts'
import type { ChatConfig } from './chat-config.ts'
import type { ChatStore } from './create-chat-store.ts'
import { ConfigError, ToolError } from './errors.ts'
import { generateId } from './generate-id.ts'
import type { PersistenceRegime } from './persistence-regime.ts'
import { authorize, toolOf } from './run-tool.ts'

const TOOL_ARGS_BOUNDS: JsonBounds = {
  maxNodes: 10_000,
  maxDepth: 32,
  maxStringLength: 16_384,
  maxKeyLength: 256,
  maxEntries: 10_000,
}

export interface ToolProposals {
  /** A known id answers with its call and ignores the arguments; a second asker of one id shares the first's work. */
  readonly propose: (proposal: ToolProposal) => Promise<ToolCall>
}

export function createToolProposals(options: {
  readonly config: () => ChatConfig
  readonly store: ChatStore
  readonly regime: PersistenceRegime
  readonly setMessages: (messages: Message[]) => void
  readonly proposed: (call: ToolCall) => Promise<void>
}): ToolProposals {
  const { config, store, regime, setMessages, proposed } = options
  const underWay = new Map<string, Promise<ToolCall>>()

  async function append({ id, name, args }: ToolProposal): Promise<ToolCall> {
    const tool = toolOf(config(), name)
    if (!tool.requiresConfirmation) {
      throw new ConfigError({ code: 'AK_CONFIG_INVALID', message: `The tool "${name}" asks for no confirmation.` })
    }
    if (!isBoundedJsonObject(args, TOOL_ARGS_BOUNDS)) throw invalidInput(name)
    const call: ToolCall = { id, name, args: structuredClone(args), status: 'requires_confirmation' }
    if ((await config().validateToolArgs?.(tool, call.args)) === false) throw invalidInput(name)
    await authorize(config(), 'propose', call)
    const message = buildMessage({
      id: generateId('msg', regime),
      role: 'assistant',
      content: '',
      toolCalls: [call],
    })
    setMessages([...store.get().messages, message])
    try {
      await config().onToolCall?.(call)
    } catch (error) {
      store.patchCall(message.id, id, {
        status: 'error',
        error: error instanceof Error ? error.message : String(error),
      })
      throw error
    }
    await proposed(call)
    return store.findCall(id)?.call ?? call
  }

  return {
    propose: async (proposal) => {
      if (!isSafeId(proposal.id) || !isSafeId(proposal.name)) {
        throw new ConfigError({ code: 'AK_CONFIG_INVALID', message: 'A proposed call needs a safe id and name.' })
      }
      const known = store.findCall(proposal.id)
      if (known && !underWay.has(proposal.id)) return known.call
      const first = underWay.get(proposal.id) ?? append(proposal)
      underWay.set(proposal.id, first)
      return first.finally(() => underWay.delete(proposal.id))
    },
  }
}

function invalidInput(name: string): ToolError {
  return new ToolError({ code: 'AK_TOOL_INVALID_INPUT', message: `The input of "${name}" is not valid.` })
}
