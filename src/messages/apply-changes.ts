import * as Y from 'yjs'
import type { MessageChanges, Place } from '../core/message-changes.ts'
import { createMessageMap, type DocumentMessage, editMessageMap, messagesOf, readMessage } from './document-layout.ts'
import type { MessageMirror, Slot } from './message-mirror.ts'

export interface Writer {
  readonly device: string
  /** Who removed what is remembered: only its remover may bring it back. */
  readonly lineage: object
}

export interface ChangesInDocument {
  readonly changes: MessageChanges
  /** The slots of the keys that the changes name and that are not new. */
  readonly slots: ReadonlyMap<string, Slot>
  /** What stands before the first changed message, if anything does. */
  readonly anchor: Slot | undefined
}

/**
 * Writes changes into a document, inside the caller's transaction. What others removed in the meantime stays removed,
 * and what they added stays where it is. Throws nothing: everything was checked before.
 *
 * Returns the maps of the messages that were made, by key.
 */
export function applyChanges(
  doc: Y.Doc,
  mirror: MessageMirror,
  { changes, slots, anchor }: ChangesInDocument,
  { device, lineage }: Writer,
): ReadonlyMap<string, Y.Map<unknown>> {
  const withTwins = (slot: Slot) => (mirror.isContested() ? [slot, ...twins(mirror, slot)] : [slot])
  for (const edit of changes.edits) {
    const slot = slots.get(edit.key)
    for (const each of slot ? withTwins(slot) : []) {
      const current = mirror.read(each)
      if (current && each.map instanceof Y.Map) editMessageMap(each.map, current, edit)
    }
  }
  const made = new Map<string, Y.Map<unknown>>()
  if (changes.placements.length === 0 && changes.removals.length === 0) return made

  const list = createWorkingList(doc, mirror)
  const moves = changes.placements.filter(({ message }) => !message).map(({ key }) => key)
  const copies = new Map<string, DocumentMessage>()
  for (const key of moves) {
    const slot = slots.get(key)
    const copy = slot && !slot.removed ? readMessage(slot.map) : undefined
    if (copy) copies.set(key, copy)
  }
  const gone = [...changes.removals, ...copies.keys()].flatMap((key) => slots.get(key) ?? [])
  for (const slot of gone) slot.removedBy = lineage
  list.remove(new Set(gone.flatMap(withTwins).map(({ map }) => map)))

  const mapOf = (key: string) => made.get(key) ?? slots.get(key)?.map
  const before = (key: string): unknown => {
    const map = mapOf(key)
    if (list.has(map)) return map
    for (let at = changes.keys.indexOf(key); at >= 0; at--) {
      const map = mapOf(changes.keys[at] ?? '')
      if (list.has(map)) return map
    }
    return anchor?.map
  }
  const resolve = (place: Place): unknown => (typeof place === 'object' ? before(place.after) : place)

  for (const { key, place, message } of changes.placements) {
    const copy = message ? { ...message, device, follows: undefined } : copies.get(key)
    if (!copy) continue
    const target = resolve(place)
    const follows = copy.role === 'tool' ? list.idOf(target) : undefined
    const map = createMessageMap({ ...copy, follows })
    list.insert(map, copy.id, target)
    made.set(key, map)
  }
  list.end()
  return made
}

/** Messages that are read as one with this one, and would come to light if it went or changed alone. */
function twins(mirror: MessageMirror, slot: Slot): Slot[] {
  const message = mirror.read(slot)
  if (!message) return []
  return mirror.slots().filter((other) => {
    const twin = other === slot ? undefined : mirror.read(other)
    return twin?.id === message.id && twin.role === message.role && twin.content === message.content
  })
}

/**
 * The document's list while it is being changed: the mirror follows only when the transaction ends. Neighbours are
 * inserted together.
 */
function createWorkingList(doc: Y.Doc, mirror: MessageMirror) {
  const root = messagesOf(doc)
  let maps: unknown[] = mirror.slots().map(({ map }) => map)
  const present = new Set(maps)
  const ids = new Map<unknown, string>()
  let run: { at: number; maps: Y.Map<unknown>[] } | undefined

  function end(): void {
    if (run) root.insert(run.at, run.maps)
    run = undefined
  }

  return {
    has: (map: unknown) => present.has(map),
    idOf: (map: unknown) => ids.get(map) ?? readMessage(map)?.id,
    remove(unwanted: ReadonlySet<unknown>): void {
      if (unwanted.size === 0) return
      for (let to = maps.length; to > 0; ) {
        let from = to
        while (from > 0 && unwanted.has(maps[from - 1])) from--
        if (from < to) root.delete(from, to - from)
        to = from === to ? to - 1 : from
      }
      for (const map of unwanted) present.delete(map)
      maps = maps.filter((map) => present.has(map))
    },
    /** Behind `target`; at the start or the end, if it is that or is not there. */
    insert(map: Y.Map<unknown>, id: string, target: unknown): void {
      const at = target === 'start' ? 0 : present.has(target) ? maps.lastIndexOf(target) + 1 : maps.length
      if (run && at === run.at + run.maps.length) run.maps.push(map)
      else {
        end()
        run = { at, maps: [map] }
      }
      if (at === maps.length) maps.push(map)
      else maps.splice(at, 0, map)
      present.add(map)
      ids.set(map, id)
    },
    end,
  }
}
