import type { ToolDecisionStore } from '../../src/contract/tool-decision-store.ts'
import type { ChatStore, FoundCall } from './create-chat-store.ts'
import { ConfigError, ToolError } from './errors.ts'

export interface DecisionPorts {
  readonly store: ChatStore
  readonly decisionStore: ToolDecisionStore | undefined
  /** Each carries the decision out, and calls `settle` with the outcome in the messages, before the model goes on. */
  readonly approved: (found: FoundCall, settle: () => Promise<void>) => Promise<void>
  readonly denied: (found: FoundCall, reason: string | undefined, settle: () => Promise<void>) => Promise<void>
  readonly persist: () => Promise<void>
}

export interface DecisionOnCall {
  readonly toolCallId: string
  readonly decision: 'approve' | 'deny'
  readonly reason?: string | undefined
}

/** Decides a call that a store of decisions knows, in whichever turn it was made. Resolves with the call as it ended. */
export async function decideCall(ports: DecisionPorts, { toolCallId, decision, reason }: DecisionOnCall) {
  const { store, decisionStore, approved, denied, persist } = ports
  if (!decisionStore) throw new ConfigError({ code: 'AK_CONFIG_INVALID', message: 'There is no decisionStore.' })
  const known = await decisionStore.get(toolCallId)
  if (!known) throw new ToolError({ code: 'AK_ACTION_NOT_FOUND', message: `No action "${toolCallId}" waits.` })
  if (known.status !== 'pending') {
    if (known.decision === decision && known.outcome) return known.outcome
    throw alreadyDecided(toolCallId)
  }
  if (store.get().messages.length === 0) store.set({ messages: [...known.messages] })
  const found = store.findCall(toolCallId)
  if (found?.call.status !== 'requires_confirmation') {
    throw new ConfigError({ code: 'AK_CONFIG_INVALID', message: `"${toolCallId}" does not wait in its messages.` })
  }
  const claimed = await decisionStore.claim(toolCallId, decision, reason)
  if (!claimed) throw alreadyDecided(toolCallId)

  const outcomeNow = () => {
    const now = store.get().messages.find(({ id }) => id === found.message.id)
    return now?.toolCalls?.find(({ id }) => id === toolCallId) ?? found.call
  }

  async function settle(): Promise<void> {
    const outcome = outcomeNow()
    const ran = outcome.status === 'complete' ? 'complete' : 'failed'
    const messages = [...store.get().messages]
    const status = decision === 'deny' ? 'denied' : ran
    await decisionStore?.settle({ ...claimed, toolCallId, messages, status, outcome })
    await persist()
  }
  await (decision === 'approve' ? approved(found, settle) : denied(found, reason, settle))
  return outcomeNow()
}

function alreadyDecided(toolCallId: string): ToolError {
  return new ToolError({ code: 'AK_ACTION_ALREADY_DECIDED', message: `"${toolCallId}" is decided already.` })
}
