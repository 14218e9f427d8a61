import type { Message } from '@agentskit/core'
import { useEffect, useRef, useState } from 'react'

/**
 * Tells a screen reader of an answer when it starts and when it is complete. The log itself is not a live region: it
 * would read a streamed answer out word by word, and the whole history after a reload.
 */
export function Announcer({ messages }: { readonly messages: readonly Message[] }) {
  const latest = messages.findLast((message) => message.role === 'assistant' && message.content !== '')
  const streaming = messages.some((message) => message.status === 'streaming')
  const [text, setText] = useState('')
  const announced = useRef(latest?.id)

  useEffect(() => {
    if (streaming) setText('The assistant writes.')
    else if (latest && latest.id !== announced.current) {
      announced.current = latest.id
      setText(latest.content)
    }
  }, [streaming, latest])

  return (
    <p className="hidden" aria-live="polite">
      {text}
    </p>
  )
}
