import { useEffect, useMemo } from 'react'
import type { Message } from '../contract/chat-message.ts'
import type { SessionMessages } from '../messages/session-messages.ts'
import { useReadable } from './use-readable.ts'

/** The messages of a session as this device has them, at most one render per frame. Empty until they are loaded. */
export function useMessages(
  rejoin: { readonly messages: (sessionId: string) => SessionMessages },
  sessionId: string,
): readonly Message[] {
  const messages = useMemo(() => rejoin.messages(sessionId), [rejoin, sessionId])
  useEffect(() => {
    // What went wrong is in `messages.problem()` and in the status; an empty list is all that can be shown here.
    messages.whenLoaded().catch(() => {})
  }, [messages])
  return useReadable(messages)
}
