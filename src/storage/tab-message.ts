import type { DatabaseEvent } from './database.ts'
import { binary, either, listOf, objectOf, oneOf, positive, text } from './shape.ts'

type WithoutRemote<Event> = Event extends DatabaseEvent ? Omit<Event, 'remote'> : never

/** A commit, as its tab tells the other tabs of it. */
export type TabMessage = WithoutRemote<DatabaseEvent>

const tabMessage = either(
  objectOf({ kind: oneOf('session'), sessionId: text }),
  objectOf({
    kind: oneOf('updates'),
    sessionId: text,
    incarnation: text,
    origin: oneOf('local', 'server'),
    firstSeq: positive,
    bytes: listOf(binary),
  }),
  objectOf({ kind: oneOf('meta') }),
)

/** Any script of this origin can post to our channel, and so can other versions of us. */
export function isTabMessage(message: unknown): message is TabMessage {
  return tabMessage(message)
}
