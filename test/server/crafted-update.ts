import * as encoding from 'lib0/encoding'

type Id = readonly [client: number, clock: number]

export type CraftedContent =
  | { readonly text: string }
  | { readonly any: readonly unknown[] }
  | { readonly type: number }
  | { readonly deleted: number }
  /** Whatever follows the info byte, as it is. */
  | { readonly ref: number; readonly write: (encoder: encoding.Encoder) => void }

export type CraftedStruct =
  | { readonly gc: number }
  | { readonly skip: number }
  | {
      readonly origin?: Id
      readonly rightOrigin?: Id
      readonly root?: string
      readonly parent?: Id
      readonly sub?: string
      readonly content: CraftedContent
    }

export interface CraftedClient {
  readonly client: number
  readonly clock: number
  readonly structs: readonly CraftedStruct[]
}

export interface CraftedUpdate {
  readonly clients?: readonly CraftedClient[]
  readonly deletes?: readonly { readonly client: number; readonly ranges: readonly (readonly [number, number])[] }[]
}

/** Writes an update, format V1, also one that Yjs would never write. */
export function craftUpdate({ clients = [], deletes = [] }: CraftedUpdate): Uint8Array {
  const encoder = encoding.createEncoder()
  encoding.writeVarUint(encoder, clients.length)
  for (const { client, clock, structs } of clients) {
    encoding.writeVarUint(encoder, structs.length)
    encoding.writeVarUint(encoder, client)
    encoding.writeVarUint(encoder, clock)
    for (const struct of structs) writeStruct(encoder, struct)
  }
  encoding.writeVarUint(encoder, deletes.length)
  for (const { client, ranges } of deletes) {
    encoding.writeVarUint(encoder, client)
    encoding.writeVarUint(encoder, ranges.length)
    for (const [clock, length] of ranges) {
      encoding.writeVarUint(encoder, clock)
      encoding.writeVarUint(encoder, length)
    }
  }
  return encoding.toUint8Array(encoder)
}

/** The first text of a client under a root that our documents have. */
export function text(client: number, clock: number, content: string): readonly CraftedClient[] {
  const place = clock === 0 ? { root: 'about' } : { origin: [client, clock - 1] as const }
  return [{ client, clock, structs: [{ ...place, content: { text: content } }] }]
}

function writeStruct(encoder: encoding.Encoder, struct: CraftedStruct): void {
  if ('gc' in struct) {
    encoding.writeUint8(encoder, 0)
    encoding.writeVarUint(encoder, struct.gc)
  } else if ('skip' in struct) {
    encoding.writeUint8(encoder, 10)
    encoding.writeVarUint(encoder, struct.skip)
  } else {
    const { origin, rightOrigin, root, parent, sub, content } = struct
    const info = refOf(content) | (origin ? 0x80 : 0) | (rightOrigin ? 0x40 : 0) | (sub === undefined ? 0 : 0x20)
    encoding.writeUint8(encoder, info)
    if (origin) writeId(encoder, origin)
    if (rightOrigin) writeId(encoder, rightOrigin)
    if (!origin && !rightOrigin) {
      encoding.writeVarUint(encoder, root === undefined ? 0 : 1)
      if (root !== undefined) encoding.writeVarString(encoder, root)
      else writeId(encoder, parent ?? [0, 0])
      if (sub !== undefined) encoding.writeVarString(encoder, sub)
    }
    writeContent(encoder, content)
  }
}

function refOf(content: CraftedContent): number {
  if ('ref' in content) return content.ref
  if ('deleted' in content) return 1
  if ('text' in content) return 4
  return 'type' in content ? 7 : 8
}

function writeContent(encoder: encoding.Encoder, content: CraftedContent): void {
  if ('ref' in content) content.write(encoder)
  else if ('deleted' in content) encoding.writeVarUint(encoder, content.deleted)
  else if ('text' in content) encoding.writeVarString(encoder, content.text)
  else if ('type' in content) encoding.writeVarUint(encoder, content.type)
  else {
    encoding.writeVarUint(encoder, content.any.length)
    for (const value of content.any) encoding.writeAny(encoder, value as null)
  }
}

function writeId(encoder: encoding.Encoder, [client, clock]: Id): void {
  encoding.writeVarUint(encoder, client)
  encoding.writeVarUint(encoder, clock)
}
