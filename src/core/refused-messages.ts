import type { Problem } from '../protocol/problem.ts'
import type { SessionRow } from './device-session.ts'

/** In the place of a `PUT`'s `writeId`. */
const MESSAGES = 'messages'

/** The server will never take the session's unsent messages as they are: they wait for a person (F20). */
export function refuseMessages(row: SessionRow, problem: Problem): SessionRow {
  return { ...row, refused: { ...problem, writeId: MESSAGES } }
}

export function areMessagesRefused({ refused }: Pick<SessionRow, 'refused'>): boolean {
  return refused?.writeId === MESSAGES
}
