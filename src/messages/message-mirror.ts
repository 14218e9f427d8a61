import * as Y from 'yjs'
import type { Message, ToolCall } from '../contract/chat-message.ts'
import { decodeCall, decodeMessage } from './decode-message.ts'
import { type DocumentMessage, messagesOf, readMessage } from './document-layout.ts'
import { readingOrder } from './reading-order.ts'

/** One place in a document's list: a message, or what somebody wrote in place of one. */
export interface Slot {
  /** Undefined when the document was released. */
  map: unknown
  /** Where the map stands in the history of all devices: how it is found again in a document that is opened anew. */
  item: Y.ID | undefined
  removed: boolean
  /** Who removed it in this tab. */
  removedBy: object | undefined
  /** The copy that took its place when a list was reordered. */
  movedTo: Slot | undefined
}

/**
 * A document's messages, kept in step with it change by change: a streamed token costs its own message, not the list.
 * Nothing here writes.
 */
export interface MessageMirror {
  /** In document order. */
  readonly slots: () => readonly Slot[]
  readonly slotOf: (map: unknown) => Slot | undefined
  /** What the slot holds now; undefined if it is gone or holds no message. */
  readonly read: (slot: Slot) => DocumentMessage | undefined
  /** In reading order, each under the id that it is handed out under. */
  readonly readings: () => readonly { readonly slot: Slot; readonly id: string }[]
  /** By the id that it is handed out under. */
  readonly find: (id: string) => Slot | undefined
  /** Some ids are used more than once. */
  readonly isContested: () => boolean
  /** The same array until something changed, and in it the same objects for messages that did not. */
  readonly get: () => readonly Message[]
  readonly toolCall: (toolCallId: string) => ToolCall | undefined
  /** The slot of this document that holds what `slot` of an earlier one held. */
  readonly revive: (slot: Slot) => Slot | undefined
  /** Lets go of the document, also where slots are still remembered. */
  readonly release: () => void
}

export interface MirrorOptions {
  readonly onChange: () => void
  /** A message object of `get()` came into being. */
  readonly onView: (view: Message, slot: Slot, message: DocumentMessage) => void
  /** Told once for each. */
  readonly onMalformed: (slot: Slot) => void
}

interface Entry extends Slot {
  stale: boolean
  message: DocumentMessage | undefined
  view: Message | undefined
  reported: boolean
  /** Its place in the reading, -1 if it is not read. */
  place: number
}

export function createMessageMirror(doc: Y.Doc, { onChange, onView, onMalformed }: MirrorOptions): MessageMirror {
  const root = messagesOf(doc)
  const byMap = new Map<unknown, Entry>()
  let entries = root.map((map) => enter(map))
  let order: readonly { readonly slot: Entry; readonly id: string }[] = []
  let list: readonly Message[] = []
  let contested = false
  let reorder = true
  let relist = true
  let byId: Map<string, Entry> | undefined
  let byItem: Map<string, Entry> | undefined
  /** Changed and not read since. */
  const stale = new Set<Entry>()
  /** Changed since the list was built. */
  const touched = new Set<Entry>()

  function enter(map: unknown): Entry {
    const entry: Entry = {
      map,
      item: undefined,
      removed: false,
      removedBy: undefined,
      movedTo: undefined,
      stale: true,
      message: undefined,
      view: undefined,
      reported: false,
      place: -1,
    }
    byMap.set(map, entry)
    return entry
  }

  /** By comparing with the list as it was: the event's own delta is quadratic in what was inserted. */
  function observeList(): void {
    const maps: unknown[] = root.toArray()
    const before = entries
    const shorter = Math.min(maps.length, before.length)
    let start = 0
    while (start < shorter && before[start]?.map === maps[start]) start++
    let end = 0
    while (end < shorter - start && before.at(-1 - end)?.map === maps.at(-1 - end)) end++
    const middle = maps.slice(start, maps.length - end).map((map) => byMap.get(map) ?? enter(map))
    const kept = new Set(middle)
    for (const entry of before.slice(start, before.length - end)) {
      if (kept.has(entry)) continue
      entry.removed = true
      byMap.delete(entry.map)
    }
    entries = [...before.slice(0, start), ...middle, ...before.slice(before.length - end)]
    reorder = true
    byItem = undefined
  }

  function observeAll(transaction: Y.Transaction): void {
    let changed = false
    for (const type of transaction.changed.keys()) {
      if ((type as unknown) === root) {
        changed = true
        continue
      }
      let inner: Y.AbstractType<unknown> | null = type as Y.AbstractType<unknown>
      while (inner && (inner.parent as unknown) !== root) inner = inner.parent as Y.AbstractType<unknown> | null
      const entry = inner && byMap.get(inner)
      if (!entry) continue
      entry.stale = true
      stale.add(entry)
      touched.add(entry)
      changed = true
    }
    if (changed) onChange()
  }

  root.observe(observeList)
  doc.on('afterTransaction', observeAll)

  function read(slot: Slot): DocumentMessage | undefined {
    const entry = slot as Entry
    if (entry.removed) return undefined
    if (!entry.stale) return entry.message
    const before = entry.message
    const message = readMessage(entry.map)
    // Removed in a transaction that has not ended: nothing is wrong with it.
    if (!message && !root.toArray().includes(entry.map)) return undefined
    entry.stale = false
    entry.message = message
    entry.view = undefined
    if (!sameRank(before, message) || (contested && before?.content !== message?.content)) reorder = true
    if (!message && !entry.reported) {
      entry.reported = true
      onMalformed(entry)
    }
    return message
  }

  function refresh(): void {
    if (reorder) for (const entry of entries) read(entry)
    else for (const entry of stale) read(entry)
    stale.clear()
    if (!reorder) return
    const readable = entries.filter((entry): entry is Entry & { message: DocumentMessage } => !!entry.message)
    const reading = readingOrder(readable)
    for (const { slot } of order) slot.place = -1
    order = reading.readings.map(({ entry, id }, place) => {
      entry.place = place
      if (entry.view && entry.view.id !== id) entry.view = undefined
      return { slot: entry, id }
    })
    contested = reading.contested
    byId = undefined
    reorder = false
    relist = true
  }

  function view(slot: Entry, id: string): Message {
    if (slot.view) return slot.view
    const message = slot.message as DocumentMessage
    const created = decodeMessage(message, id)
    slot.view = created
    onView(created, slot, message)
    return created
  }

  return {
    slots: () => entries,
    slotOf: (map) => byMap.get(map),
    read,
    readings() {
      refresh()
      return order
    },
    find(id) {
      refresh()
      byId ??= new Map(order.map(({ slot, id: name }) => [name, slot]))
      return byId.get(id)
    },
    isContested() {
      refresh()
      return contested
    },
    get() {
      refresh()
      if (relist) list = order.map(({ slot, id }) => view(slot, id))
      else if (touched.size > 0) {
        const next = [...list]
        for (const slot of touched) {
          const id = order[slot.place]?.id
          if (id !== undefined) next[slot.place] = view(slot, id)
        }
        list = next
      }
      relist = false
      touched.clear()
      return list
    },
    toolCall(toolCallId) {
      for (let at = entries.length - 1; at >= 0; at--) {
        const entry = entries[at]
        const call = entry && read(entry)?.calls.find(({ id }) => id === toolCallId)
        if (call) return decodeCall(call)
      }
      return undefined
    },
    revive(slot) {
      if (byMap.get(slot.map) === slot) return slot
      if (!slot.item) return undefined
      byItem ??= new Map(entries.map((entry) => [itemName(itemOf(entry.map)), entry]))
      return byItem.get(itemName(slot.item))
    },
    release() {
      root.unobserve(observeList)
      doc.off('afterTransaction', observeAll)
      for (const entry of entries) {
        entry.item = itemOf(entry.map)
        entry.map = undefined
      }
      byMap.clear()
      byItem = undefined
    },
  }
}

/** Nothing differs that decides whether, where and under which id a message is read. */
function sameRank(a: DocumentMessage | undefined, b: DocumentMessage | undefined): boolean {
  if (!a || !b) return a === b
  return (
    a.id === b.id &&
    a.role === b.role &&
    a.device === b.device &&
    a.follows === b.follows &&
    a.toolCallId === b.toolCallId &&
    a.calls.length === b.calls.length &&
    a.calls.every((call, at) => call.id === b.calls[at]?.id)
  )
}

function itemOf(map: unknown): Y.ID | undefined {
  return map instanceof Y.Map ? (Y.createRelativePositionFromTypeIndex(map as never, 0).type ?? undefined) : undefined
}

function itemName(item: Y.ID | undefined): string {
  return item ? `${item.client}:${item.clock}` : ''
}
