import type { Message } from '../contract/chat-message.ts'
import { messageChanges, messageKeys, unchangedEnds } from '../core/message-changes.ts'
import type { StoredMessage } from '../core/stored-message.ts'
import { applyChanges } from './apply-changes.ts'
import { encodeMessage, requireMessages } from './encode-message.ts'
import type { Homes, Lineage, Origin, Origins } from './lineage.ts'
import type { LiveDocument } from './live-document.ts'
import type { MessageMirror, Slot } from './message-mirror.ts'

export interface SaveListOptions {
  readonly document: LiveDocument
  readonly lineage: Lineage
  readonly origins: Origins
  readonly homes: Homes
  /** Messages that were looked at when the document was not open yet. */
  readonly encoded: WeakMap<Message, StoredMessage>
}

/**
 * Brings into the document what `list` says beyond what its lineage knew, as one edit; from then on the lineage knows
 * `list`. Objects that did not change are not looked at. Everything is checked before anything is written.
 *
 * Returns whether there was anything to bring.
 *
 * @throws RejoinError `refused` for a message that cannot be kept.
 */
export function saveList(list: readonly Message[], options: SaveListOptions): boolean {
  const { document, lineage, origins, homes } = options
  const { mirror } = document
  const { base } = lineage
  const { start, end } = unchangedEnds(base, list)
  if (start === base.length && start === list.length) return false
  const before = base.slice(start, base.length - end)
  const after = list.slice(start, list.length - end)
  requireMessages(after)

  const known = new Map<string, Known>()
  messageKeys(before).forEach((key, at) => {
    const origin = originOf(before[at] as Message, options)
    if (origin) known.set(key, { slot: slotIn(document, origin.slot), stored: origin.stored })
  })
  const keys = messageKeys(after)
  const messageOf = new Map(keys.map((key, at) => [key, after[at] as Message]))
  const saved = after.map((message, at) => storedForm(message, known.get(keys[at] ?? ''), options))
  const changes = messageChanges(
    [...known.values()].map(({ stored }) => stored),
    saved,
    { after: start > 0 ? BEFORE : undefined, atEnd: end === 0 },
  )

  // What this lineage sees for the first time may be in the document all the same: then it is only learned.
  const slots = new Map([...known].map(([key, { slot }]) => [key, slot] as const))
  const inOrder = changes.placements.some(({ message }) => !message) && standInOrder(keys, known, mirror)
  const placements = changes.placements.filter(({ key, message }) => {
    // Somebody else's order, which the list has taken over: moving it once more would tear it from who writes in it.
    if (!message && inOrder) return false
    const there = message && slotOfKnown(messageOf.get(key) as Message, message, options)
    if (!there) return true
    slots.set(key, there)
    return there.removed && there.removedBy === lineage
  })

  const anchor = lastPresent(base, start, options)
  const made = document.edit(() =>
    applyChanges(
      document.doc,
      mirror,
      { changes: { ...changes, placements }, slots, anchor },
      { device: document.device, lineage },
    ),
  )
  after.forEach((message, at) => {
    const key = keys[at] ?? ''
    const old = slots.get(key)
    const slot = mirror.slotOf(made.get(key)) ?? old
    const stored = saved[at]
    if (!slot || !stored) return
    if (old && old !== slot) old.movedTo = slot
    const origin = originOf(message, options)
    if (origin) origin.slot = slot
    else origins.set(message, { life: lineage.life, lineage, slot, stored })
    if (!homes.has(message)) homes.set(message, lineage.life)
  })
  if (before.length === after.length) for (const [at, message] of after.entries()) base[start + at] = message
  else lineage.base = [...list]
  return changes.edits.length + placements.length + changes.removals.length > 0
}

interface Known {
  readonly slot: Slot
  readonly stored: StoredMessage
}

/** Stands for the message before the compared part of a list. */
const BEFORE = '\n'

/** What the message says. An object that somebody else was handed says what the document said, which is no edit. */
function storedForm(message: Message, known: Known | undefined, options: SaveListOptions): StoredMessage {
  const origin = originOf(message, options)
  if (origin) return origin.lineage === options.lineage || !known ? origin.stored : known.stored
  return options.encoded.get(message) ?? encodeMessage(message, known?.stored)
}

/** The slot of an object that came from the document, or of a copy that says the same under the same id. */
function slotOfKnown(message: Message, stored: StoredMessage, options: SaveListOptions): Slot | undefined {
  const { document } = options
  const origin = originOf(message, options)
  if (origin) return slotIn(document, origin.slot)
  const slot = document.mirror.find(stored.id)
  const there = slot && document.mirror.read(slot)
  return there?.role === stored.role && there.content === stored.content ? slot : undefined
}

function originOf(message: Message, { origins, lineage }: SaveListOptions): Origin | undefined {
  const origin = origins.get(message)
  return origin?.life === lineage.life ? origin : undefined
}

/** The slot in this document: it may have been read from disk again, or moved, since. */
function slotIn({ mirror }: LiveDocument, slot: Slot): Slot {
  let last = slot
  while (last.movedTo) last = last.movedTo
  const here = mirror.revive(last)
  if (!here) last.removed = true
  return here ?? last
}

/** The last message before the compared part that the document still has. */
function lastPresent(base: readonly Message[], before: number, options: SaveListOptions): Slot | undefined {
  for (let at = before - 1; at >= 0; at--) {
    const origin = originOf(base[at] as Message, options)
    const slot = origin && slotIn(options.document, origin.slot)
    if (slot && !slot.removed) return slot
  }
  return undefined
}

/** True if the document has all messages that the writer knew in the order of its list. */
function standInOrder(keys: readonly string[], known: ReadonlyMap<string, Known>, mirror: MessageMirror): boolean {
  const position = new Map(mirror.slots().map((slot, at) => [slot, at]))
  let last = -1
  for (const key of keys) {
    const slot = known.get(key)?.slot
    const at = slot && position.get(slot)
    if (at === undefined) continue
    if (at < last) return false
    last = at
  }
  return true
}
