import * as Y from 'yjs'
import type { CallEdit, MessageEdit } from '../core/message-changes.ts'
import type { StoredCall, StoredMessage } from '../core/stored-message.ts'
import { spliceOnto, type TextEdit } from '../core/text-edit.ts'
import { parseObject, parseParts } from './decode-message.ts'
import { isCallStatus, isMessageRole, isMessageStatus } from './message-shape.ts'

// A document has one root, an array of messages in order. A message is a map:
//
//   id, role, status, createdAt, device            text; `device` wrote it
//   content, reasoning                             Y.Text: a streamed token costs its own length
//   toolCallId, parts, metadata                    text; the last two are JSON
//   interrupted                                    true: closed for a writer that died
//   follows                                        id of the message that a tool's answer was written behind
//   call:<id>                                      one map for each tool call: index, name, args (JSON), status,
//                                                  result, error
//
// Free-form values are JSON text because a Y.Map refuses a value with a `constructor` key and hands back a replaced
// prototype for `__proto__`. Calls lie in the message itself, so that two devices that add one each keep both.

export const MESSAGES_ROOT = 'messages'
const CALL = 'call:'

/** What a document holds of a message beside the message. */
export interface DocumentMessage extends StoredMessage {
  readonly device: string
  readonly follows: string | undefined
}

export function messagesOf(doc: Y.Doc): Y.Array<unknown> {
  return doc.getArray(MESSAGES_ROOT)
}

export function createMessageMap(message: DocumentMessage): Y.Map<unknown> {
  const map = new Y.Map<unknown>()
  const { id, role, status, createdAt, device, content } = message
  for (const [key, value] of Object.entries({ id, role, status, createdAt, device })) map.set(key, value)
  map.set('content', new Y.Text(content))
  for (const key of ['toolCallId', 'parts', 'metadata', 'follows'] as const) {
    if (message[key] !== undefined) map.set(key, message[key])
  }
  if (message.reasoning !== undefined) map.set('reasoning', new Y.Text(message.reasoning))
  if (message.interrupted) map.set('interrupted', true)
  message.calls.forEach((call, index) => {
    map.set(CALL + call.id, createCallMap(call, index))
  })
  return map
}

function createCallMap({ name, args, status, result, error }: StoredCall, index: number): Y.Map<unknown> {
  const map = new Y.Map<unknown>()
  for (const [key, value] of Object.entries({ index, name, args, status, result, error })) {
    if (value !== undefined) map.set(key, value)
  }
  return map
}

/**
 * The message that `map` holds; undefined if it does not hold one. Documents come from other devices: everything is
 * looked at before it is believed.
 */
export function readMessage(map: unknown): DocumentMessage | undefined {
  if (!(map instanceof Y.Map)) return undefined
  const text = (key: string) => {
    const value: unknown = map.get(key)
    return value === undefined || typeof value === 'string' ? value : null
  }
  const id = text('id')
  const role = text('role')
  const status = text('status')
  const createdAt = text('createdAt')
  const device = text('device')
  const toolCallId = text('toolCallId')
  const follows = text('follows')
  const parts = text('parts')
  const metadata = text('metadata')
  const content = readText(map.get('content'))
  const reasoning = map.has('reasoning') ? readText(map.get('reasoning')) : undefined
  const calls = readCalls(map)
  const interrupted: unknown = map.get('interrupted')
  if (!id || !createdAt || !isInstant(createdAt) || !device || content === null || reasoning === null) return undefined
  if (!isMessageRole(role) || !isMessageStatus(status) || !calls) return undefined
  if (toolCallId === null || follows === null || parts === null || metadata === null) return undefined
  if ((parts !== undefined && !parseParts(parts)) || (metadata !== undefined && !parseObject(metadata)))
    return undefined
  return {
    id,
    role,
    content,
    status,
    createdAt,
    toolCallId,
    parts,
    metadata,
    reasoning,
    interrupted: interrupted === true,
    calls,
    device,
    follows,
  }
}

/** `null` for what is not a plain text: formats and embeds would shift every position. */
function readText(value: unknown): string | null {
  if (!(value instanceof Y.Text)) return null
  const text = value.toString()
  return text.length === value.length ? text : null
}

function readCalls(map: Y.Map<unknown>): StoredCall[] | undefined {
  const found: { readonly index: number; readonly call: StoredCall }[] = []
  for (const key of map.keys()) {
    if (!key.startsWith(CALL)) continue
    const entry = readCall(key.slice(CALL.length), map.get(key))
    if (!entry) return undefined
    found.push(entry)
  }
  // Two calls that two devices added at the same index: by id, so that all readers see one order.
  return found.sort((a, b) => a.index - b.index || (a.call.id < b.call.id ? -1 : 1)).map(({ call }) => call)
}

function readCall(id: string, map: unknown): { index: number; call: StoredCall } | undefined {
  if (!(map instanceof Y.Map) || id === '') return undefined
  const [index, name, args, status, result, error] = ['index', 'name', 'args', 'status', 'result', 'error'].map(
    (key): unknown => map.get(key),
  )
  if (typeof index !== 'number' || typeof name !== 'string' || typeof args !== 'string') return undefined
  if (!isCallStatus(status) || !parseObject(args)) return undefined
  if (!(result === undefined || typeof result === 'string')) return undefined
  if (!(error === undefined || typeof error === 'string')) return undefined
  return { index, call: { id, name, args, status, result, error } }
}

function isInstant(text: string): boolean {
  const date = new Date(text)
  return !Number.isNaN(date.getTime()) && date.toISOString() === text
}

/** Writes an edit into a message; `current` is what it holds now. What is there already is not written again. */
export function editMessageMap(map: Y.Map<unknown>, current: DocumentMessage, edit: MessageEdit): void {
  if (edit.content) editText(map, 'content', current.content, edit.content)
  if (edit.reasoning) editText(map, 'reasoning', current.reasoning, edit.reasoning)
  else if (edit.reasoning === null) map.delete('reasoning')
  for (const [key, value] of Object.entries(edit.fields)) {
    if (value === current[key as keyof typeof edit.fields]) continue
    if (value === undefined || value === false) map.delete(key)
    else map.set(key, value)
  }
  for (const id of edit.removedCalls) map.delete(CALL + id)
  for (const call of edit.calls) editCall(map, current, call)
  // A writer that was taken for dead goes on: the message is open again.
  if (current.interrupted && !edit.saved.interrupted) {
    map.delete('interrupted')
    if (edit.saved.status !== current.status) map.set('status', edit.saved.status)
  }
}

/** Closes a message whose writer died: what had come of it stays. */
export function interruptMessage(map: Y.Map<unknown>): void {
  map.set('status', 'complete')
  map.set('interrupted', true)
}

function editText(map: Y.Map<unknown>, key: string, current: string | undefined, edit: TextEdit): void {
  const text: unknown = map.get(key)
  if (!(text instanceof Y.Text) || current === undefined) {
    map.set(key, new Y.Text(edit.to))
    return
  }
  const splice = spliceOnto(current, edit)
  if (!splice) return
  if (splice.remove > 0) text.delete(splice.index, splice.remove)
  if (splice.insert !== '') text.insert(splice.index, splice.insert)
}

function editCall(map: Y.Map<unknown>, current: DocumentMessage, { call, index, changed }: CallEdit): void {
  const held: unknown = map.get(CALL + call.id)
  const known = current.calls.find(({ id }) => id === call.id)
  if (!(held instanceof Y.Map) || !known) {
    // Known to the writer and gone: somebody removed it.
    if (!changed) map.set(CALL + call.id, createCallMap(call, index))
    return
  }
  const values = { ...call, index }
  for (const key of changed ?? (['name', 'args', 'status', 'result', 'error'] as const)) {
    if (key === 'id' || (key !== 'index' && values[key] === known[key])) continue
    if (values[key] === undefined) held.delete(key)
    else held.set(key, values[key])
  }
}
