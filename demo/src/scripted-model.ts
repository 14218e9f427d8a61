import type { AdapterFactory, Message } from '@agentskit/core'
import { REFUND_TOOL } from './refund-desk.ts'

/**
 * A model without a key and without a network: the same words for the same message, one token after the other. Asked for
 * a refund, it calls the tool.
 */
export function createScriptedModel({ tokenMs }: { readonly tokenMs: number }): AdapterFactory {
  return {
    createSource: ({ messages }) => {
      const stopped = new AbortController()
      return {
        stream: async function* () {
          for (const token of tokensOf(answerTo(messages))) {
            await pause(tokenMs, stopped.signal)
            if (stopped.signal.aborted) return
            yield { type: 'text', content: token }
          }
          if (wantsRefund(messages)) yield { type: 'tool_call', toolCall: refundCall() }
          yield { type: 'done' }
        },
        abort: () => stopped.abort(),
      }
    },
  }
}

/** What the model says; exported, so that a test knows the words. */
export function answerTo(messages: readonly Message[]): string {
  const last = lastWord(messages)
  if (last?.role === 'tool') {
    return last.content.startsWith('Refunded')
      ? `${last.content} That was the whole of it: one decision, one refund.`
      : 'All right, nothing was refunded.'
  }
  if (wantsRefund(messages))
    return 'I can pay your order A-1042 back, 25 €. It runs once you approve it, on any device.'
  const asked = messages.findLast((message) => message.role === 'user')?.content ?? ''
  return (
    `You wrote “${asked}”. I am a scripted model, so I say the same to everybody, word by word. ` +
    'While I do, reload the page or look at the other device: what I have said so far is already there. ' +
    'Commands such as /help never reach me.'
  )
}

function wantsRefund(messages: readonly Message[]): boolean {
  const last = lastWord(messages)
  return last?.role === 'user' && /refund|money back/i.test(last.content)
}

/** What is to be answered; behind it the list may already hold the empty message of the answer. */
function lastWord(messages: readonly Message[]): Message | undefined {
  return messages.findLast(({ role }) => role === 'user' || role === 'tool')
}

function refundCall() {
  const args = JSON.stringify({ refundId: crypto.randomUUID(), order: 'A-1042', euros: 25 })
  return { id: `call-${crypto.randomUUID()}`, name: REFUND_TOOL, args }
}

/** Words with the space that follows them: joined, they are the text again. */
export function tokensOf(text: string): readonly string[] {
  return text.match(/\S+\s*/gu) ?? []
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
  })
}
