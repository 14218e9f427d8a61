import type { ContentPart, Message, ToolCall } from '../contract/chat-message.ts'
import type { StoredCall, StoredMessage } from '../core/stored-message.ts'
import { MAX_VALUE_DEPTH } from './canonical-json.ts'
import { isPlainObject } from './message-shape.ts'

/**
 * A message as it is handed out, under the id that its reader knows it by. Nothing in it is shared with another one:
 * whoever gets it may change it.
 */
export function decodeMessage(stored: StoredMessage, id: string = stored.id): Message {
  const metadata = decodeMetadata(stored)
  return {
    id,
    role: stored.role,
    content: stored.content,
    status: stored.status,
    createdAt: new Date(stored.createdAt),
    ...(stored.parts !== undefined && { parts: parseParts(stored.parts) ?? [] }),
    ...(stored.calls.length > 0 && { toolCalls: stored.calls.map(decodeCall) }),
    ...(stored.toolCallId !== undefined && { toolCallId: stored.toolCallId }),
    ...(metadata && { metadata }),
  }
}

export function decodeCall({ id, name, args, status, result, error }: StoredCall): ToolCall {
  return {
    id,
    name,
    args: parseObject(args) ?? {},
    status,
    ...(result !== undefined && { result }),
    ...(error !== undefined && { error }),
  }
}

function decodeMetadata({ metadata, reasoning, interrupted }: StoredMessage): Record<string, unknown> | undefined {
  if (metadata === undefined && reasoning === undefined && !interrupted) return undefined
  return {
    ...(metadata !== undefined && parseObject(metadata)),
    ...(reasoning !== undefined && { reasoning }),
    ...(interrupted && { interrupted }),
  }
}

/** Undefined for what is not the JSON text of an object, or nested too deep to be handed to anybody. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  const value = parse(text)
  return isPlainObject(value) ? value : undefined
}

/** Undefined for what is not the JSON text of a list of objects that name their type. */
export function parseParts(text: string): ContentPart[] | undefined {
  const value = parse(text)
  return Array.isArray(value) && value.every(isPart) ? value : undefined
}

function isPart(value: unknown): value is ContentPart {
  return isPlainObject(value) && typeof value.type === 'string'
}

function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return fits(value, MAX_VALUE_DEPTH) ? value : undefined
  } catch {
    return undefined
  }
}

function fits(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return depth > 0 && Object.values(value).every((member) => fits(member, depth - 1))
}
