import type { Message } from '../contract/chat-message.ts'

export interface LocalMessages {
  readonly messages: readonly Message[]
  /** This very object is not known to be stored: the chat made or changed it, and no save of it has resolved. */
  readonly unsaved: (message: Message) => boolean
  /** The chat streams into it at this moment. */
  readonly streamsHere: (message: Message) => boolean
}

/**
 * The list that a chat should show when others changed the stored messages; `undefined` when it shows it already.
 *
 * A message that the chat holds unsaved stays as the chat has it: its save is still to come. One
 * that was stored and is gone was removed elsewhere. A message that streams here is never touched, because the next
 * token is appended to what the chat holds.
 */
export function mergeRemoteMessages(local: LocalMessages, remote: readonly Message[]): Message[] | undefined {
  const byId = new Map(local.messages.map((message) => [message.id, message]))
  const merged = remote.map((theirs) => {
    const ours = byId.get(theirs.id)
    if (!ours) return theirs
    return local.streamsHere(ours) || local.unsaved(ours) || sameMessage(ours, theirs) ? ours : theirs
  })
  const present = new Set(merged.map((message) => message.id))
  let previous: string | undefined
  let inTurn = false
  for (const ours of local.messages) {
    if (!present.has(ours.id) && (local.unsaved(ours) || local.streamsHere(ours))) {
      // A turn that begins here goes behind the others', as its save puts it: anywhere else it would have to move.
      inTurn ||= ours.role === 'user'
      // What is part of an earlier turn stays after the message that it followed; at the end when that one is gone.
      const index = previous === undefined ? -1 : merged.findIndex((message) => message.id === previous)
      const inPlace = previous === undefined ? 0 : index < 0 ? merged.length : index + 1
      merged.splice(inTurn ? merged.length : inPlace, 0, ours)
      present.add(ours.id)
    }
    previous = ours.id
  }
  const unchanged = merged.length === local.messages.length && merged.every((each, at) => each === local.messages[at])
  return unchanged ? undefined : merged
}

function sameMessage(a: Message, b: Message): boolean {
  return (
    a.id === b.id &&
    a.role === b.role &&
    a.status === b.status &&
    a.content === b.content &&
    a.toolCallId === b.toolCallId &&
    sameJson(a.toolCalls, b.toolCalls) &&
    sameJson(a.parts, b.parts) &&
    sameJson(a.metadata, b.metadata)
  )
}

/** Equal but for the order of keys counts as different: the stored form is then shown once, and equal from then on. */
function sameJson(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}
