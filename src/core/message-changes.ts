import type { StoredCall, StoredMessage } from './stored-message.ts'
import type { TextEdit } from './text-edit.ts'

/** Where a message goes. `end` is behind everything that the document has, also what the writer never saw. */
export type Place = 'start' | 'end' | { readonly after: string }

/** A message that is new to the writer's list, or that stands elsewhere in it: then `message` is absent. */
export interface Placement {
  readonly key: string
  readonly place: Place
  readonly message?: StoredMessage
}

export type ChangedFields = Partial<
  Pick<StoredMessage, 'role' | 'status' | 'createdAt' | 'toolCallId' | 'parts' | 'metadata' | 'interrupted'>
>

export interface CallEdit {
  /** The position in the message's list of calls. */
  readonly index: number
  readonly call: StoredCall
  /** Absent: the call is new. */
  readonly changed?: ReadonlySet<keyof StoredCall | 'index'>
}

export interface MessageEdit {
  readonly key: string
  /** What the writer says of the whole message now. */
  readonly saved: StoredMessage
  readonly content?: TextEdit
  /** `null`: there is none any more. */
  readonly reasoning?: TextEdit | null
  readonly fields: ChangedFields
  readonly calls: readonly CallEdit[]
  readonly removedCalls: readonly string[]
}

export interface MessageChanges {
  /** In the order of the saved list, so that each may stand behind the one before. */
  readonly placements: readonly Placement[]
  readonly edits: readonly MessageEdit[]
  /** Keys that the writer knew and dropped. What it never knew is never here. */
  readonly removals: readonly string[]
  /** The saved list's keys, for finding who else is before a message when the one right before it is gone. */
  readonly keys: readonly string[]
}

/** Where the compared lists lie, when equal ends of them were left out. */
export interface ListContext {
  /** The key of the message before both lists. */
  readonly after?: string | undefined
  /** True if nothing was left out behind them. */
  readonly atEnd: boolean
}

/**
 * What a writer did between the list that it knew (`base`) and the list that it saves: diffed against what this caller
 * knew and not against the document, because the absence of what it never saw is not a deletion (G7).
 *
 * Messages are told apart by {@link messageKeys}. A turn stays together: an answer goes right behind what it answers,
 * and a user's or system's message at the end of the list goes behind everything.
 */
export function messageChanges(
  base: readonly StoredMessage[],
  saved: readonly StoredMessage[],
  { after, atEnd }: ListContext = { atEnd: true },
): MessageChanges {
  const baseKeys = messageKeys(base)
  const savedKeys = messageKeys(saved)
  const known = new Map(baseKeys.map((key, index) => [key, index]))
  const kept = new Set(savedKeys)
  const inPlace = longestRise(savedKeys.map((key) => known.get(key)))
  const lastInPlace = inPlace.lastIndexOf(true)

  const placements: Placement[] = []
  const edits: MessageEdit[] = []
  let previous = after
  saved.forEach((message, index) => {
    const key = savedKeys[index] ?? message.id
    const before = base[known.get(key) ?? -1]
    const edit = before && before !== message ? messageEdit(key, before, message) : undefined
    if (edit) edits.push(edit)
    if (!inPlace[index]) {
      const opensTurn = atEnd && index > lastInPlace && (message.role === 'user' || message.role === 'system')
      const alone = previous === undefined && atEnd && lastInPlace < 0
      const place = opensTurn || alone ? 'end' : previous === undefined ? 'start' : { after: previous }
      placements.push(before ? { key, place } : { key, place, message })
    }
    previous = key
  })
  return { placements, edits, removals: baseKeys.filter((key) => !kept.has(key)), keys: savedKeys }
}

/** A message's id; of several with the same id in one list, the later ones get a number behind it. */
export function messageKeys(messages: readonly { readonly id: string }[]): string[] {
  const seen = new Map<string, number>()
  return messages.map(({ id }) => {
    const times = (seen.get(id) ?? 0) + 1
    seen.set(id, times)
    return times === 1 ? id : `${id}\n${times}`
  })
}

/**
 * How many elements at the start and at the end are the very same objects. This is all that most saves of a long list
 * cost: a streamed token changes the last message, and the others are the objects that they were.
 */
export function unchangedEnds(base: readonly unknown[], saved: readonly unknown[]): { start: number; end: number } {
  const shorter = Math.min(base.length, saved.length)
  let start = 0
  while (start < shorter && base[start] === saved[start]) start++
  let end = 0
  while (end < shorter - start && base[base.length - 1 - end] === saved[saved.length - 1 - end]) end++
  return { start, end }
}

function messageEdit(key: string, base: StoredMessage, saved: StoredMessage): MessageEdit | undefined {
  const fields: { -readonly [K in keyof ChangedFields]: ChangedFields[K] } = {}
  if (saved.role !== base.role) fields.role = saved.role
  if (saved.status !== base.status) fields.status = saved.status
  if (saved.createdAt !== base.createdAt) fields.createdAt = saved.createdAt
  if (saved.toolCallId !== base.toolCallId) fields.toolCallId = saved.toolCallId
  if (saved.parts !== base.parts) fields.parts = saved.parts
  if (saved.metadata !== base.metadata) fields.metadata = saved.metadata
  if (saved.interrupted !== base.interrupted) fields.interrupted = saved.interrupted
  const calls = callEdits(base.calls, saved.calls)
  const removedCalls = base.calls.map(({ id }) => id).filter((id) => !saved.calls.some((call) => call.id === id))
  const content = base.content === saved.content ? undefined : { from: base.content, to: saved.content }
  const reasoning = reasoningEdit(base.reasoning, saved.reasoning)
  const unchanged = !content && reasoning === undefined && calls.length === 0 && removedCalls.length === 0
  if (unchanged && Object.keys(fields).length === 0) return undefined
  return {
    key,
    saved,
    ...(content && { content }),
    ...(reasoning !== undefined && { reasoning }),
    fields,
    calls,
    removedCalls,
  }
}

function reasoningEdit(from: string | undefined, to: string | undefined): TextEdit | null | undefined {
  if (from === to) return undefined
  return to === undefined ? null : { from: from ?? '', to }
}

function callEdits(base: readonly StoredCall[], saved: readonly StoredCall[]): CallEdit[] {
  return saved.flatMap((call, index): CallEdit[] => {
    const before = base.findIndex(({ id }) => id === call.id)
    const known = base[before]
    if (!known) return [{ index, call }]
    const names = ['name', 'args', 'status', 'result', 'error'] as const
    const changed = new Set<keyof StoredCall | 'index'>(names.filter((name) => call[name] !== known[name]))
    if (before !== index) changed.add('index')
    return changed.size > 0 ? [{ index, call, changed }] : []
  })
}

/**
 * Which elements form a longest strictly rising sequence; undefined never does. Those are the messages that stay where
 * they are when a list was reordered; in a list that was not, everything known.
 */
function longestRise(values: readonly (number | undefined)[]): boolean[] {
  const chosen = values.map(() => false)
  const ends: number[] = [] // ends[n]: where the best sequence of length n + 1 ends
  const before: (number | undefined)[] = []
  values.forEach((value, at) => {
    if (value === undefined) return
    let low = 0
    let high = ends.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((values[ends[middle] ?? 0] ?? 0) < value) low = middle + 1
      else high = middle
    }
    before[at] = low > 0 ? ends[low - 1] : undefined
    ends[low] = at
  })
  for (let at = ends.at(-1); at !== undefined; at = before[at]) chosen[at] = true
  return chosen
}
