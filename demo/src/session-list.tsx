import type { Rejoin } from 'rejoin'
import { useSessions } from 'rejoin/react'

export interface SessionListProps {
  readonly rejoin: Rejoin
  readonly deviceLabel: string
  readonly current: string
  readonly onChoose: (sessionId: string) => void
}

/** The chats of the account, the latest first; the one that is open is there before anything of it is stored. */
export function SessionList({ rejoin, deviceLabel, current, onChoose }: SessionListProps) {
  const sessions = useSessions(rejoin).filter((session) => !session.deleted)
  const known = sessions.some((session) => session.sessionId === current)
  const shown = known ? sessions : [{ sessionId: current, unsent: false, pendingConfirmations: 0 }, ...sessions]
  return (
    <nav className="sessions" aria-label={`Chats on ${deviceLabel}`}>
      <ul data-testid="session-list">
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
              {unsent && (
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
