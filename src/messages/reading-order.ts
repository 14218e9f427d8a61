import type { DocumentMessage } from './document-layout.ts'

export interface Reading<Entry> {
  readonly entry: Entry
  /** The id that the message is handed out under. */
  readonly id: string
}

export interface ReadingOrder<Entry> {
  readonly readings: readonly Reading<Entry>[]
  /** Some ids are used more than once: then a change of content may change who is who. */
  readonly contested: boolean
}

/**
 * The messages of a document in the order in which they are read, each under an id of its own.
 *
 * - Equal ids with equal role and content are one message. With different content they are two, and the later one in
 *   document order is handed out as `<id>:<device>`, rule I8.
 * - A tool's answer that a merge tore away from its call is read right behind what it was written behind, together with
 *   the answers that follow it: providers drop answers whose call they have not just seen.
 */
export function readingOrder<Entry extends { readonly message: DocumentMessage }>(
  entries: readonly Entry[],
): ReadingOrder<Entry> {
  const { shown, names } = nameEach(entries)
  const order = keepTurnsTogether(shown)
  return {
    readings: order.map((entry) => ({ entry, id: names.get(entry) ?? entry.message.id })),
    contested: shown.length < entries.length || names.size > 0,
  }
}

function nameEach<Entry extends { readonly message: DocumentMessage }>(entries: readonly Entry[]) {
  const first = new Map<string, Entry>()
  const later: Entry[] = []
  for (const entry of entries) {
    if (first.has(entry.message.id)) later.push(entry)
    else first.set(entry.message.id, entry)
  }
  const names = new Map<Entry, string>()
  if (later.length === 0) return { shown: entries, names }

  const taken = new Set(first.keys())
  const hidden = new Set<Entry>()
  const same = new Map<string, Entry[]>()
  for (const entry of later) {
    const { message } = entry
    const others = same.get(message.id) ?? [first.get(message.id) ?? entry]
    same.set(message.id, others)
    if (others.some((other) => other.message.role === message.role && other.message.content === message.content)) {
      hidden.add(entry)
      continue
    }
    others.push(entry)
    let name = `${message.id}:${message.device}`
    for (let count = 2; taken.has(name); count++) name = `${message.id}:${message.device}:${count}`
    taken.add(name)
    names.set(entry, name)
  }
  return { shown: entries.filter((entry) => !hidden.has(entry)), names }
}

function keepTurnsTogether<Entry extends { readonly message: DocumentMessage }>(
  entries: readonly Entry[],
): readonly Entry[] {
  const torn = entries.flatMap(({ message }, index) =>
    message.role === 'tool' && message.follows !== undefined && entries[index - 1]?.message.id !== message.follows
      ? [index]
      : [],
  )
  if (torn.length === 0) return entries

  const moved = new Set<Entry>()
  const behind = new Map<Entry, Entry[]>()
  for (const index of torn) {
    const answer = entries[index]
    const anchor = answer && findAnchor(entries, index, answer.message)
    if (!answer || !anchor || moved.has(answer)) continue
    const run = [answer]
    for (let next = index + 1; next < entries.length && !torn.includes(next); next++) {
      const entry = entries[next]
      if (!entry || entry.message.role === 'user' || entry.message.role === 'system') break
      run.push(entry)
    }
    for (const entry of run) moved.add(entry)
    behind.set(anchor, [...(behind.get(anchor) ?? []), ...run])
  }

  // An anchor is always before what stands behind it, so this ends and leaves nobody out.
  const order: Entry[] = []
  const open = entries.filter((entry) => !moved.has(entry)).reverse()
  for (let entry = open.pop(); entry; entry = open.pop()) {
    order.push(entry)
    const run = behind.get(entry)
    if (run) open.push(...run.toReversed())
  }
  return order
}

/** What the answer was written behind, if that is its call or another answer of the same turn. */
function findAnchor<Entry extends { readonly message: DocumentMessage }>(
  entries: readonly Entry[],
  before: number,
  { follows, toolCallId }: DocumentMessage,
): Entry | undefined {
  for (let index = before - 1; index >= 0; index--) {
    const entry = entries[index]
    if (!entry || entry.message.id !== follows) continue
    const { role, calls } = entry.message
    if (role === 'tool' || calls.some(({ id }) => id === toolCallId)) return entry
  }
  return undefined
}
