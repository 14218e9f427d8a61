import type { ActionConfirmation } from '../session/action-confirmation.ts'
import type { ChatSession } from '../session/chat-session.ts'

/** A record follows the message that holds its call; whoever clicks in between need not notice. */
const WAIT_MS = 2_000

/** The confirmation of a tool call; `undefined` if none is known and none arrives in 2 s, or before `signal` ends. */
export async function awaitRecord(
  session: Pick<ChatSession, 'getConfirmations' | 'subscribe'>,
  toolCallId: string,
  signal: AbortSignal,
): Promise<ActionConfirmation | undefined> {
  const find = () => session.getConfirmations().find((record) => record.toolCallId === toolCallId)
  const patience = AbortSignal.any([AbortSignal.timeout(WAIT_MS), signal])
  return new Promise((resolve) => {
    const unsubscribe = session.subscribe(look)
    patience.addEventListener('abort', end)
    if (patience.aborted) end()
    else look()

    function look(): void {
      if (find()) end()
    }

    function end(): void {
      unsubscribe()
      patience.removeEventListener('abort', end)
      resolve(find())
    }
  })
}
