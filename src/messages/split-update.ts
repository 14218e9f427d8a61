import * as encoding from 'lib0/encoding'
import * as Y from 'yjs'

type Struct = Y.Item | Y.GC

/** One client's structs in their order, and how far they are taken. */
interface Turn {
  readonly client: number
  readonly structs: readonly Struct[]
  at: number
}

type Deletes = ReadonlyMap<number, readonly { readonly clock: number; readonly len: number }[]>

/** What a struct costs beside its content, at most: info, ids of neighbours or the parent, lengths. */
const STRUCT_COST = 64
/** A range of deletions: its client, clock and length. */
const RANGE_COST = 24

/**
 * The same as `update` in pieces of about `maxBytes`, for a wire that carries no more at once. Each stands on nothing but
 * the ones before it and what the update itself stands on, so that a peer can take them one by one; deletions come last.
 * Text is cut where it is longer, never inside a surrogate pair; any other content is one piece, whatever its size.
 */
export function splitUpdate(update: Uint8Array, maxBytes: number): readonly Uint8Array[] {
  if (update.length <= maxBytes) return [update]
  const { structs, ds } = Y.decodeUpdate(update)
  // Such an update waits for something itself: it is no state of a document.
  if (structs.some((struct) => struct instanceof Y.Skip)) return [update]
  const ordered = inOrder(structs as readonly Struct[]).flatMap((struct) => cut(struct, maxBytes - STRUCT_COST))
  return [
    ...gather(ordered, costOf, maxBytes).map((piece) => encode(piece, new Map())),
    ...gather(rangesOf(ds.clients), () => RANGE_COST, maxBytes).map((ranges) =>
      encode(
        [],
        byClient(ranges, ({ client }) => client),
      ),
    ),
  ]
}

/** As a document would integrate them: whatever a struct stands on comes before it. */
function inOrder(structs: readonly Struct[]): readonly Struct[] {
  const turns = new Map<number, Turn>()
  for (const [client, own] of byClient(structs, ({ id }) => id.client)) {
    turns.set(client, { client, structs: own, at: 0 })
  }
  const isPending = ({ client, clock }: Y.ID) => {
    const turn = turns.get(client)
    const next = turn?.structs[turn.at]
    const last = turn?.structs.at(-1)
    return next !== undefined && last !== undefined && clock >= next.id.clock && clock < last.id.clock + last.length
  }
  const ordered: Struct[] = []
  for (const first of turns.values()) {
    const waiting = [first]
    for (let turn = waiting.at(-1); turn; turn = waiting.at(-1)) {
      const struct = turn.structs[turn.at]
      const { client } = turn
      const need = struct && needsOf(struct).find((id) => id.client !== client && isPending(id))
      const other = need && turns.get(need.client)
      if (other && !waiting.includes(other)) {
        waiting.push(other)
        continue
      }
      if (struct) ordered.push(struct)
      turn.at++
      if (!struct || waiting.length > 1) waiting.pop()
    }
  }
  return ordered
}

function needsOf(struct: Struct): readonly Y.ID[] {
  if (!(struct instanceof Y.Item)) return []
  return [struct.origin, struct.rightOrigin, struct.parent].filter((id): id is Y.ID => id instanceof Y.ID)
}

/** Long text as several items, as an insertion in their middle would have left it. */
function cut(struct: Struct, maxBytes: number): readonly Struct[] {
  if (!(struct instanceof Y.Item) || !(struct.content instanceof Y.ContentString)) return [struct]
  const text = struct.content.str
  // A code unit takes at most three bytes.
  const step = Math.max(2, Math.floor(maxBytes / 3))
  if (text.length <= step) return [struct]
  const items: Y.Item[] = []
  for (let from = 0; from < text.length; ) {
    const end = from + step
    const to = end < text.length && isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end
    items.push(part(struct, from, new Y.ContentString(text.slice(from, to))))
    from = to
  }
  return items
}

function part(item: Y.Item, from: number, content: Y.ContentString): Y.Item {
  const { client, clock } = item.id
  const origin = from === 0 ? item.origin : Y.createID(client, clock + from - 1)
  const { parent, parentSub, rightOrigin } = item
  return new Y.Item(Y.createID(client, clock + from), null, origin, null, rightOrigin, parent, parentSub, content)
}

function costOf(struct: Struct): number {
  if (!(struct instanceof Y.Item)) return STRUCT_COST
  const encoder = new Y.UpdateEncoderV1()
  struct.write(encoder, 0)
  return STRUCT_COST + encoding.length(encoder.restEncoder)
}

function gather<T>(all: readonly T[], costOf: (each: T) => number, maxBytes: number): T[][] {
  const groups: T[][] = []
  let bytes = maxBytes
  for (const each of all) {
    const cost = costOf(each)
    bytes += cost
    if (bytes > maxBytes) {
      groups.push([])
      bytes = cost
    }
    groups.at(-1)?.push(each)
  }
  return groups
}

interface Range {
  readonly client: number
  readonly clock: number
  readonly len: number
}

function rangesOf(deletes: Deletes): readonly Range[] {
  return [...deletes].flatMap(([client, ranges]) => ranges.map(({ clock, len }) => ({ client, clock, len })))
}

function byClient<T>(all: readonly T[], clientOf: (each: T) => number): ReadonlyMap<number, readonly T[]> {
  const groups = new Map<number, T[]>()
  for (const each of all) {
    const group = groups.get(clientOf(each))
    if (group) group.push(each)
    else groups.set(clientOf(each), [each])
  }
  return groups
}

/** An update of Yjs, format 1. */
function encode(structs: readonly Struct[], deletes: Deletes): Uint8Array {
  const encoder = new Y.UpdateEncoderV1()
  const { restEncoder } = encoder
  const clients = byClient(structs, ({ id }) => id.client)
  encoding.writeVarUint(restEncoder, clients.size)
  for (const [client, own] of clients) {
    encoding.writeVarUint(restEncoder, own.length)
    encoder.writeClient(client)
    encoding.writeVarUint(restEncoder, own[0]?.id.clock ?? 0)
    for (const struct of own) struct.write(encoder, 0)
  }
  encoding.writeVarUint(restEncoder, deletes.size)
  for (const [client, ranges] of deletes) {
    encoding.writeVarUint(restEncoder, client)
    encoding.writeVarUint(restEncoder, ranges.length)
    for (const { clock, len } of ranges) {
      encoding.writeVarUint(restEncoder, clock)
      encoding.writeVarUint(restEncoder, len)
    }
  }
  return encoder.toUint8Array()
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}
