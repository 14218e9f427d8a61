import { createChatController } from '@agentskit/core'
import type { Rejoin } from 'rejoin'
import { useOfflineChat } from 'rejoin/agentskit'
import type { PageOptions } from './page-options.ts'
import type { RefundCounter } from './refund-counter.ts'
import { type RefundInput, refundDesk } from './refund-desk.ts'
import { createScriptedModel } from './scripted-model.ts'

export interface ChatOptions extends Pick<PageOptions, 'tokenMs' | 'refundDelayMs'> {
  readonly rejoin: Rejoin
  readonly sessionId: string
  readonly deviceLabel: string
  readonly counter: RefundCounter
}

export type OpenedChat = Extract<ReturnType<typeof useChat>, { readonly state: 'open' }>

/** The refund desk in one session, for as long as it is shown. */
export function useChat({ rejoin, sessionId, deviceLabel, counter, tokenMs, refundDelayMs }: ChatOptions) {
  const refund = async ({ refundId, order, euros }: RefundInput) => {
    if (refundDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, refundDelayMs))
    await counter.run({ id: refundId, device: deviceLabel })
    return `Refunded ${euros} € for order ${order}.`
  }
  return useOfflineChat({
    rejoin,
    sessionId,
    definition: refundDesk({ adapter: createScriptedModel({ tokenMs }), refund }),
    createController: createChatController,
  })
}
