import type { ToolCall } from '../../src/contract/chat-message.ts'
import type { ToolDecisionStore } from '../../src/contract/tool-decision-store.ts'
import type { ChatStore } from './create-chat-store.ts'
import { ConfigError, ToolError } from './errors.ts'

export interface DecisionPorts {
  readonly store: ChatStore
  readonly decisionStore: ToolDecisionStore | undefined
  /** Each carries the decision out, and calls `settle` with the outcome in the messages, before the model goes on. */
  readonly approved: (call: ToolCall, settle: () => Promise<void>) => Promise<void>
  readonly denied: (call: ToolCall, reason: string | undefined, settle: () => Promise<void>) => Promise<void>
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
  const call = store.findCall(toolCallId)?.call
  if (call?.status !== 'requires_confirmation') {
    throw new ConfigError({ code: 'AK_CONFIG_INVALID', message: `"${toolCallId}" does not wait in its messages.` })
  }
  const claimed = await decisionStore.claim(toolCallId, decision, reason)
  if (!claimed) throw alreadyDecided(toolCallId)

  async function settle(): Promise<void> {
    const outcome = store.findCall(toolCallId)?.call ?? call
    const ran = outcome?.status === 'complete' ? 'complete' : 'failed'
    const messages = [...store.get().messages]
    const status = decision === 'deny' ? 'denied' : ran
    await decisionStore?.settle({ ...claimed, toolCallId, messages, status, ...(outcome && { outcome }) })
    await persist()
  }
  await (decision === 'approve' ? approved(call, settle) : denied(call, reason, settle))
  return store.findCall(toolCallId)?.call ?? call
}

function alreadyDecided(toolCallId: string): ToolError {
  return new ToolError({ code: 'AK_ACTION_ALREADY_DECIDED', message: `"${toolCallId}" is decided already.` })
}
