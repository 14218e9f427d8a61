import { MAX_JSON_DEPTH } from '../../src/protocol/limits.ts'
import { type ByteReader, createByteReader } from './byte-reader.ts'

/** An operation's place: which client made it, and its position among that client's operations. */
export interface OperationId {
  readonly client: number
  readonly clock: number
}

export interface ScannedStruct {
  readonly clock: number
  readonly length: number
  /** What has to be there before: its neighbours, else the type that it lies in. */
  readonly needs: readonly OperationId[]
  /** True: `needs` is the type that it lies in. */
  readonly namesParent: boolean
  /** Set where the struct says in which root type it lies. */
  readonly root: string | undefined
  /** True for a nested map, array or text. */
  readonly isType: boolean
  /** False for operations that carry no bytes of content: deleted ones, garbage collected ones. */
  readonly hasContent: boolean
}

export interface ScannedClient {
  readonly client: number
  readonly structs: readonly ScannedStruct[]
}

export interface DeletedRange extends OperationId {
  readonly length: number
}

/** What an update would do, without doing it. */
export interface ScannedUpdate {
  readonly clients: readonly ScannedClient[]
  readonly deletes: readonly DeletedRange[]
}

/** The update is not one that our documents can contain. `message` says which rule it breaks, never what is in it. */
export class InvalidUpdateError extends Error {
  override readonly name = 'InvalidUpdateError'
}

const HAS_ORIGIN = 0x80
const HAS_RIGHT_ORIGIN = 0x40
const HAS_PARENT_SUB = 0x20
const REF = 0x1f

const GC = 0
const DELETED = 1
const STRING = 4
const TYPE = 7
const ANY = 8

/** Array, map, text: what our documents nest. */
const TYPE_REFS = 3
const MAX_CLIENT_ID = 0xffffffff

/**
 * Reads a Yjs update, format V1, byte for byte and without Yjs: nothing is allocated that the bytes do not pay for, and
 * nothing is constructed from what they say. Throws {@link InvalidUpdateError} for everything that a document of ours
 * cannot contain: other content than text, plain values and nested types; skipped or empty structs; text that is not
 * UTF-8; values deeper than 64; bytes left over.
 *
 * ```
 * update  = count { structs } · deletes
 * structs = count · client · clock · { struct }
 * struct  = info · (length | [origin] · [right origin] · [parent · [parentSub]] · content)
 * deletes = count { client · count { clock · length } }
 * ```
 */
export function scanUpdate(bytes: Uint8Array): ScannedUpdate {
  try {
    const reader = createByteReader(bytes)
    const clients = readClients(reader)
    const deletes = readDeletes(reader)
    if (reader.remaining() > 0) throw new InvalidUpdateError('bytes left over')
    return { clients, deletes }
  } catch (error) {
    if (error instanceof InvalidUpdateError) throw error
    throw new InvalidUpdateError('truncated or malformed', { cause: error })
  }
}

function readClients(reader: ByteReader): readonly ScannedClient[] {
  const clients: ScannedClient[] = []
  const seen = new Set<number>()
  for (let left = readCount(reader); left > 0; left--) {
    const structCount = readCount(reader)
    const client = readClient(reader)
    if (seen.has(client)) throw new InvalidUpdateError('a client twice')
    seen.add(client)
    let clock = reader.varUint()
    const structs: ScannedStruct[] = []
    for (let at = 0; at < structCount; at++) {
      const struct = readStruct(reader, client, clock)
      structs.push(struct)
      clock += struct.length
      if (!Number.isSafeInteger(clock)) throw new InvalidUpdateError('a clock beyond all bounds')
    }
    if (structs.length > 0) clients.push({ client, structs })
  }
  return clients
}

function readStruct(reader: ByteReader, client: number, clock: number): ScannedStruct {
  const info = reader.byte()
  const ref = info & REF
  if (ref === GC) {
    const length = readLength(reader)
    return { clock, length, needs: [], namesParent: false, root: undefined, isType: false, hasContent: false }
  }
  const needs: OperationId[] = []
  if (info & HAS_ORIGIN) needs.push(readId(reader))
  if (info & HAS_RIGHT_ORIGIN) needs.push(readId(reader))
  let root: string | undefined
  const namesParent = needs.length === 0
  if (namesParent) {
    if (reader.varUint() === 1) root = readText(reader)
    else needs.push(readId(reader))
    if (info & HAS_PARENT_SUB) readKey(reader)
  }
  if (needs.some((id) => id.client === client && id.clock >= clock)) {
    throw new InvalidUpdateError('an operation that stands on itself')
  }
  const length = readContent(reader, ref)
  return { clock, length, needs, namesParent, root, isType: ref === TYPE, hasContent: ref !== DELETED }
}

/** Returns how many operations the content is. */
function readContent(reader: ByteReader, ref: number): number {
  switch (ref) {
    case DELETED:
      return readLength(reader)
    case STRING: {
      const { length } = readText(reader)
      if (length === 0) throw new InvalidUpdateError('an empty struct')
      return length
    }
    case TYPE:
      if (reader.varUint() >= TYPE_REFS) throw new InvalidUpdateError('a type that is not allowed')
      return 1
    case ANY: {
      const length = readCount(reader, 1)
      if (length === 0) throw new InvalidUpdateError('an empty struct')
      for (let at = 0; at < length; at++) skipValue(reader)
      return length
    }
    default:
      throw new InvalidUpdateError('content that is not allowed')
  }
}

/** Walks one value without building it; iterative, so that depth is a number and not a stack. */
function skipValue(reader: ByteReader): void {
  const open: { left: number; keyed: boolean }[] = [{ left: 1, keyed: false }]
  for (let level = open.at(-1); level; level = open.at(-1)) {
    if (level.left === 0) {
      open.pop()
      continue
    }
    level.left--
    if (level.keyed) readKey(reader)
    const kind = reader.byte()
    switch (kind) {
      case 127: // undefined
      case 126: // null
      case 121: // false
      case 120: // true
        break
      case 125:
        skipVarInt(reader)
        break
      case 124:
        reader.skip(4)
        break
      case 123:
        reader.skip(8)
        break
      case 119:
        readText(reader)
        break
      case 118:
      case 117: {
        if (open.length > MAX_JSON_DEPTH) throw new InvalidUpdateError('a value that is too deep')
        const keyed = kind === 118
        open.push({ left: readCount(reader, keyed ? 2 : 1), keyed })
        break
      }
      case 116:
        reader.skip(reader.varUint())
        break
      default:
        throw new InvalidUpdateError('a value that is not allowed')
    }
  }
}

/** A sign and six bits, then groups of seven; at most 53 bits. */
function skipVarInt(reader: ByteReader): void {
  for (let count = 0; count < 8; count++) if (reader.byte() < 0x80) return
  throw new InvalidUpdateError('a number beyond 53 bits')
}

function readDeletes(reader: ByteReader): readonly DeletedRange[] {
  const deletes: DeletedRange[] = []
  for (let left = readCount(reader); left > 0; left--) {
    const client = readClient(reader)
    for (let ranges = readCount(reader); ranges > 0; ranges--) {
      const clock = reader.varUint()
      deletes.push({ client, clock, length: readLength(reader) })
    }
  }
  return deletes
}

/** A declared count, if there are bytes enough for it. */
function readCount(reader: ByteReader, bytesEach = 2): number {
  const count = reader.varUint()
  if (count * bytesEach > reader.remaining()) {
    throw new InvalidUpdateError('a count that the bytes cannot hold')
  }
  return count
}

function readClient(reader: ByteReader): number {
  const client = reader.varUint()
  if (client > MAX_CLIENT_ID) throw new InvalidUpdateError('a client id beyond 32 bits')
  return client
}

function readId(reader: ByteReader): OperationId {
  return { client: readClient(reader), clock: reader.varUint() }
}

function readLength(reader: ByteReader): number {
  const length = reader.varUint()
  if (length === 0) throw new InvalidUpdateError('an empty struct')
  return length
}

/** A key that is an own property nowhere: it would replace a prototype where a value is read. */
function readKey(reader: ByteReader): void {
  if (readText(reader) === '__proto__') throw new InvalidUpdateError('a key that is not allowed')
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Every reader of a document would throw on text that is not UTF-8. */
function readText(reader: ByteReader): string {
  return utf8.decode(reader.take(reader.varUint()))
}
