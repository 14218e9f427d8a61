import type { ChatMemory } from '../contract/chat-memory.ts'
import type { Message, ToolCall } from '../contract/chat-message.ts'
import type { ToolDecisionRecord, ToolDecisionStore } from '../contract/tool-decision-store.ts'
import { RejoinError } from '../errors.ts'
import { type ActionConfirmation, isSettled, outcomeOf, type Want } from './action-confirmation.ts'
import type { ConfirmationRecords } from './confirmation-records.ts'
import type { Permissions } from './permissions.ts'
import { SessionConflictError } from './session-conflict-error.ts'

export interface DecisionStoreOptions {
  readonly records: ConfirmationRecords
  readonly memory: ChatMemory | undefined
  readonly permissions: Permissions
  /** Puts a call before a person that no confirmation is known for. */
  readonly adopt: (call: ToolCall) => Promise<unknown>
  /** Denies an expired call in the chat of the session in which it waits, if there is one. */
  readonly denyExpired: (toolCallId: string) => Promise<unknown>
  /** Epoch ms. */
  readonly now: () => number
}

/**
 * A session's confirmations as the store that AgentsKit's controller decides calls with. A decision in the chat itself is
 * then claimed as one of a coordinator is, and a call can be decided in a controller that was made after it.
 */
export function createDecisionStore(options: DecisionStoreOptions): ToolDecisionStore {
  const { records, memory, permissions, adopt, denyExpired, now } = options
  /** Claimed here, by the controller itself. */
  const claimed = new Map<string, ActionConfirmation>()

  function find(toolCallId: string): ActionConfirmation | undefined {
    return records.get().find((record) => record.toolCallId === toolCallId)
  }

  async function toRecord(toolCallId: string, rest: Omit<ToolDecisionRecord, 'toolCallId' | 'messages'>) {
    return { toolCallId, messages: (await memory?.load()) ?? [], ...rest }
  }

  /** What would be decided, by the clock that counts. */
  function wantOf(record: ActionConfirmation, decision: 'approve' | 'deny'): Want {
    if (decision === 'deny') return 'rejecting'
    return now() < record.expiresAt ? 'approving' : 'expiring'
  }

  return {
    putPending: async ({ toolCallId, messages }) => {
      if (find(toolCallId)) return
      const call = callOf(messages, toolCallId)
      if (call) await adopt(call)
    },

    get: async (toolCallId) => {
      // Whoever was permitted to decide it finds it still to be decided.
      if (permissions.isOpen(toolCallId)) return toRecord(toolCallId, { status: 'pending' })
      const record = find(toolCallId)
      if (!record) return undefined
      if (record.status === 'pending') return toRecord(toolCallId, { status: 'pending' })
      const decision = record.status === 'approving' || record.status === 'approved' ? 'approve' : 'deny'
      if (!isSettled(record.status)) return toRecord(toolCallId, { status: 'claimed', decision })
      const over = await toRecord(toolCallId, { status: decision === 'deny' ? 'denied' : 'complete', decision })
      const outcome = callOf(over.messages, toolCallId)
      if (!outcome) return over
      return { ...over, outcome, ...(decision === 'approve' && outcome.status === 'error' && { status: 'failed' }) }
    },

    claim: async (toolCallId, decision, reason) => {
      const given = { status: 'claimed', decision, ...(reason !== undefined && { reason }) } as const
      if (permissions.take(toolCallId, decision)) return toRecord(toolCallId, given)
      const record = find(toolCallId)
      if (record?.status !== 'pending') return undefined
      const want = wantOf(record, decision)
      // Before the claim: what cannot be read then leaves nothing claimed.
      const permission = await toRecord(toolCallId, given)
      try {
        const ours = await records.claim(record, want)
        if (want === 'expiring') {
          // Whether the chat could be told or not: nothing of it runs any more.
          await denyExpired(toolCallId).catch(() => undefined)
          await records.settle(ours, 'expired')
          return undefined
        }
        claimed.set(toolCallId, ours)
      } catch (error) {
        if (error instanceof SessionConflictError) return undefined
        throw error
      }
      return permission
    },

    settle: async ({ toolCallId, messages, decision }) => {
      if (permissions.isTaken(toolCallId)) return
      const ours = claimed.get(toolCallId)
      const want = decision === 'approve' ? 'approving' : 'rejecting'
      if (ours?.status !== want) {
        throw new RejoinError('refused', 'This decision was not claimed here, so its outcome is not taken.', {
          hint: 'Decide the call in the chat, and the chat claims and settles it.',
        })
      }
      // The outcome has to be seen in the messages before it counts.
      await memory?.save(messages)
      await records.settle(ours, outcomeOf(want))
      claimed.delete(toolCallId)
    },
  }
}

function callOf(messages: readonly Message[], toolCallId: string): ToolCall | undefined {
  return messages.flatMap(({ toolCalls = [] }) => toolCalls).find(({ id }) => id === toolCallId)
}
