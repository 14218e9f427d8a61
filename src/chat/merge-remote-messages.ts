import type { Message } from '../contract/chat-message.ts'
import { deepEqual } from '../core/same-content.ts'
import type { OwnMessages } from './own-messages.ts'

export interface LocalMessages
  extends Pick<OwnMessages, 'isUnsaved' | 'isDropped' | 'streamsHere' | 'isAbandoned' | 'end'> {
  readonly messages: readonly Message[]
}

/**
 * The list that a chat should show when others changed the stored messages; `undefined` when it shows it already.
 *
 * A message that the chat holds unsaved stays as the chat has it, and one that it dropped does not come back: the save
 * that says so is still to come. One that was stored and is gone was removed elsewhere. A message that streams here is
 * never touched, because the next token is put into what the chat holds; one whose stream is over is ended.
 */
export function mergeRemoteMessages(local: LocalMessages, remote: readonly Message[]): Message[] | undefined {
  const byId = new Map(local.messages.map((message) => [message.id, message]))
  const ended = (message: Message) => (local.isAbandoned(message) ? local.end(message) : message)
  const merged = remote
    .filter(({ id }) => byId.has(id) || !local.isDropped(id))
    .map((theirs) => {
      const ours = byId.get(theirs.id)
      if (!ours) return theirs
      return local.streamsHere(ours) || local.isUnsaved(ours) || sameMessage(ours, theirs) ? ended(ours) : theirs
    })
  const present = new Set(merged.map((message) => message.id))
  let previous: string | undefined
  let inTurn = false
  for (const ours of local.messages) {
    if (!present.has(ours.id) && (local.isUnsaved(ours) || local.streamsHere(ours))) {
      // A turn that begins here goes behind the others', as its save puts it: anywhere else it would have to move.
      inTurn ||= ours.role === 'user'
      // What is part of an earlier turn stays after the message that it followed; at the end when that one is gone.
      const index = previous === undefined ? -1 : merged.findIndex((message) => message.id === previous)
      const inPlace = previous === undefined ? 0 : index < 0 ? merged.length : index + 1
      merged.splice(inTurn ? merged.length : inPlace, 0, ended(ours))
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
    deepEqual(a.toolCalls, b.toolCalls) &&
    deepEqual(a.parts, b.parts) &&
    deepEqual(a.metadata, b.metadata)
  )
}
