import { useEffect, useMemo, useState } from 'react'
import type { Rejoin } from 'rejoin'
import { type ConnectedChat, connectChat } from './connect-chat.ts'
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

export type Chat =
  | { readonly state: 'opening' }
  | { readonly state: 'failed'; readonly error: unknown; readonly retry: () => void }
  | { readonly state: 'open'; readonly chat: ConnectedChat }

type Opened = { readonly chat: ConnectedChat } | { readonly error: unknown } | undefined

/** The chat of one session, for as long as it is shown. */
export function useChat(options: ChatOptions): Chat {
  const { rejoin, sessionId, deviceLabel, counter, tokenMs, refundDelayMs } = options
  const [opened, setOpened] = useState<Opened>()
  const [attempt, setAttempt] = useState(0)

  // biome-ignore lint/correctness/useExhaustiveDependencies: a further attempt opens the same chat again.
  useEffect(() => {
    let shown = true
    let close = () => {}
    const refund = async ({ refundId, order, euros }: RefundInput) => {
      if (refundDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, refundDelayMs))
      await counter.run({ id: refundId, device: deviceLabel })
      return `Refunded ${euros} € for order ${order}.`
    }
    connectChat({
      rejoin,
      sessionId,
      define: (memory) => refundDesk({ adapter: createScriptedModel({ tokenMs }), memory, refund }),
    }).then(
      (chat) => {
        if (!shown) return chat.close()
        close = chat.close
        setOpened({ chat })
      },
      (error: unknown) => shown && setOpened({ error }),
    )
    return () => {
      shown = false
      close()
      setOpened(undefined)
    }
  }, [rejoin, sessionId, deviceLabel, counter, tokenMs, refundDelayMs, attempt])

  return useMemo((): Chat => {
    if (!opened) return { state: 'opening' }
    if ('chat' in opened) return { state: 'open', chat: opened.chat }
    return { state: 'failed', error: opened.error, retry: () => setAttempt((before) => before + 1) }
  }, [opened])
}
