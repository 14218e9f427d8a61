import { useEffect, useRef } from 'react'
import type { Rejoin } from 'rejoin'
import { useRejoinStatus, useSessions } from 'rejoin/react'

export interface SessionListProps {
  readonly rejoin: Rejoin
  readonly deviceLabel: string
  readonly current: string
  readonly onChoose: (sessionId: string) => void
}

/** As `.sessions ul` in styles.css: the room for a focus ring, and the width over which the strip fades out. */
const EDGE_PX = 4
const FADE_PX = 28

/** The chats of the account, the latest first; the one that is open is there before anything of it is stored. */
export function SessionList({ rejoin, deviceLabel, current, onChoose }: SessionListProps) {
  const sessions = useSessions(rejoin).filter((session) => !session.deleted)
  // Without a server nothing is on its way anywhere.
  const hasServer = useRejoinStatus(rejoin).state !== 'local'
  const known = sessions.some((session) => session.sessionId === current)
  const shown = known ? sessions : [{ sessionId: current, unsent: false, pendingConfirmations: 0 }, ...sessions]
  const strip = useRef<HTMLUListElement>(null)
  const place = shown.findIndex(({ sessionId }) => sessionId === current)

  // Sideways only: the page itself stays where it is.
  // biome-ignore lint/correctness/useExhaustiveDependencies: looks when another chat is open, and when it moved.
  useEffect(() => {
    const chip = strip.current?.querySelector('[aria-current="true"]')
    if (!strip.current || !chip) return
    const [seen, there] = [strip.current.getBoundingClientRect(), chip.getBoundingClientRect()]
    const beforeStart = there.left - seen.left - EDGE_PX
    const beyondEnd = there.right - seen.right + FADE_PX
    // One that is wider than the strip shows its beginning.
    if (beforeStart < 0) strip.current.scrollLeft += beforeStart
    else if (beyondEnd > 0) strip.current.scrollLeft += Math.min(beyondEnd, beforeStart)
  }, [current, place])

  return (
    <nav className="sessions" aria-label={`Chats on ${deviceLabel}`}>
      <ul ref={strip} data-testid="session-list">
        {shown.map(({ sessionId, unsent, pendingConfirmations }) => (
          <li key={sessionId}>
            <button
              type="button"
              className="chip"
              aria-current={sessionId === current}
              data-testid="session"
              data-session={sessionId}
              onClick={() => onChoose(sessionId)}
            >
              {sessionId}
              {pendingConfirmations > 0 && (
                <span className="badge" title="Decisions that are open">
                  {pendingConfirmations}
                  <span className="hidden"> open decisions</span>
                </span>
              )}
              {unsent && hasServer && (
                <span className="unsent" title="Not all of it is with the server">
                  <span className="hidden">, not all of it is sent</span>
                </span>
              )}
            </button>
          </li>
        ))}
      </ul>
      <button type="button" className="plain" data-testid="new-session" onClick={() => onChoose(newSessionId())}>
        New chat
      </button>
    </nav>
  )
}

/** Short enough to read, and made of chance, so that two devices offline do not pick the same. */
function newSessionId(): string {
  return `chat-${crypto.randomUUID().slice(0, 6)}`
}
