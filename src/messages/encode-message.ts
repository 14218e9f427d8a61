import type { Message, ToolCall } from '../contract/chat-message.ts'
import type { StoredCall, StoredMessage } from '../core/stored-message.ts'
import { RejoinError } from '../errors.ts'
import { canonicalJson } from './canonical-json.ts'
import { parseParts } from './decode-message.ts'
import { isCallStatus, isDate, isMessageRole, isMessageStatus, isPlainObject } from './message-shape.ts'
import { wellFormed } from './well-formed.ts'

/**
 * What is kept of a message, as a copy: tools go on changing `args` in place. `known` is an earlier state of the same
 * message; a streamed text is then only read where it grew.
 *
 * @throws RejoinError `refused` for what is not a message or cannot be kept, with the reason in `message`.
 */
export function encodeMessage(message: Message, known?: StoredMessage): StoredMessage {
  const { id, role, content, status, createdAt, toolCallId, parts, toolCalls } = message
  if (typeof id !== 'string' || id === '' || wellFormed(id) !== id) throw invalid('a message has no valid id')
  if (!isMessageRole(role)) throw invalid(`message ${id} has an unknown role`)
  if (!isMessageStatus(status)) throw invalid(`message ${id} has an unknown status`)
  if (typeof content !== 'string') throw invalid(`the content of message ${id} is not a text`)
  if (toolCallId !== undefined && typeof toolCallId !== 'string') throw invalid(`message ${id} has a bad toolCallId`)
  if (toolCalls !== undefined && !Array.isArray(toolCalls)) throw invalid(`the tool calls of message ${id} are no list`)
  try {
    return {
      id,
      role,
      content: wellFormed(content, known?.content),
      status,
      createdAt: dateText(createdAt),
      toolCallId: toolCallId === undefined ? undefined : wellFormed(toolCallId),
      parts: parts === undefined ? undefined : partsText(parts),
      ...metadataFields(message.metadata, known),
      calls: [...new Map(toolCalls?.map((call) => [call.id, encodeCall(call)])).values()],
    }
  } catch (cause) {
    throw invalid(`message ${id} cannot be kept: ${cause instanceof Error ? cause.message : 'it throws'}`, cause)
  }
}

/** Throws `refused` for a list that holds something else than objects. */
export function requireMessages(list: readonly unknown[]): void {
  if (!list.every((message) => typeof message === 'object' && message !== null)) throw invalid('one is not an object')
}

function metadataFields(
  metadata: unknown,
  known: StoredMessage | undefined,
): Pick<StoredMessage, 'metadata' | 'reasoning' | 'interrupted'> {
  if (metadata === undefined) return { metadata: undefined, reasoning: undefined, interrupted: false }
  if (!isPlainObject(metadata)) throw new TypeError('The metadata is not a plain object.')
  const { reasoning: thought, interrupted: cut, ...others } = metadata
  const reasoning = typeof thought === 'string' ? wellFormed(thought, known?.reasoning) : undefined
  const interrupted = cut === true
  const rest = {
    ...others,
    ...(reasoning === undefined && { reasoning: thought }),
    ...(!interrupted && { interrupted: cut }),
  }
  const text = canonicalJson(rest)
  const emptied = text === '{}' && (interrupted || reasoning !== undefined)
  return { metadata: emptied ? undefined : text, reasoning, interrupted }
}

function encodeCall(call: ToolCall): StoredCall {
  const { id, name, args, status, result, error } = call
  if (typeof id !== 'string' || id === '') throw new TypeError('A tool call has no id.')
  if (typeof name !== 'string' || name === '') throw new TypeError('A tool call has no name.')
  if (!isCallStatus(status)) throw new TypeError('A tool call has an unknown status.')
  if (!isPlainObject(args)) throw new TypeError('The arguments of a tool call are not a plain object.')
  return {
    id: wellFormed(id),
    name: wellFormed(name),
    args: canonicalJson(args) ?? '{}',
    status,
    result: optionalText(result),
    error: optionalText(error),
  }
}

function optionalText(text: unknown): string | undefined {
  if (text === undefined) return undefined
  if (typeof text !== 'string') throw new TypeError('The outcome of a tool call is not a text.')
  return wellFormed(text)
}

function partsText(parts: unknown): string {
  const text = canonicalJson(parts)
  if (text === undefined || !parseParts(text)) throw new TypeError('The parts are not a list of typed parts.')
  return text
}

function dateText(date: unknown): string {
  if (!isDate(date)) throw new TypeError('The date of creation is not a Date.')
  return date.toISOString() // throws for an invalid date
}

function invalid(what: string, cause?: unknown): RejoinError {
  return new RejoinError('refused', `These messages cannot be saved: ${what}.`, {
    hint: 'Nothing was written. Repair the message and save the list again.',
    ...(cause !== undefined && { cause }),
  })
}
