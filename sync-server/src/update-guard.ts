import { MAX_UPDATE_BYTES } from '../../src/protocol/limits.ts'
import { addRange, covers, type RangeSet } from './range-set.ts'
import {
  InvalidUpdateError,
  type OperationId,
  type ScannedStruct,
  type ScannedUpdate,
  scanUpdate,
} from './scan-update.ts'

/** What a session's log contains, as far as the next update has to fit to it. */
export interface LogKnowledge {
  /** How many operations of each client are in the log, without gaps. */
  readonly clocks: Map<number, number>
  readonly deleted: Map<number, RangeSet>
}

export type Inspection =
  /** `fresh`: those that bring something new, in order; the rest is in the log already. */
  | { readonly kind: 'accepted'; readonly fresh: readonly Uint8Array[]; readonly learn: () => void }
  /** Predecessors are missing: the sender starts again from what the log has. */
  | { readonly kind: 'gap' }
  | { readonly kind: 'invalid'; readonly reason: string }

/** The root types of our documents. */
const ROOTS: ReadonlySet<string> = new Set(['messages', 'about'])
/** Types in types in types, within one update; our documents have five levels. */
const MAX_TYPE_DEPTH = 64
/**
 * How many operations without content one client may add in one update. Deleted text costs no bytes, so that bytes are
 * no bound: some regenerated answers of an offline day may arrive as one number.
 */
const MAX_EMPTY_OPERATIONS = 1_000_000

export function createLogKnowledge(): LogKnowledge {
  return { clocks: new Map(), deleted: new Map() }
}

/** Takes in an update that is in the log already. One that cannot be read, as after a damage, teaches nothing. */
export function learnUpdate(knowledge: LogKnowledge, bytes: Uint8Array): void {
  try {
    learn(knowledge, scanUpdate(bytes))
  } catch (error) {
    if (!(error instanceof InvalidUpdateError)) throw error
  }
}

/**
 * Looks at updates before they are stored, all together: either each of them can be applied by everybody who has the
 * log, or none is stored. Nothing is applied to find out. An update is invalid when it does what no document of ours
 * does (see {@link scanUpdate}), names an unknown root, nests too deep, or jumps ahead in a client's clock. It is a gap
 * when something that it stands on, or deletes, is not in the log.
 *
 * Binding a client id to the device that used it first belongs here, beside the clocks; it is not checked yet.
 */
export function inspectUpdates(knowledge: LogKnowledge, updates: readonly Uint8Array[]): Inspection {
  const clocks = new Map<number, number>()
  const clockOf = (client: number) => clocks.get(client) ?? knowledge.clocks.get(client) ?? 0
  const fresh: Uint8Array[] = []
  const scans: ScannedUpdate[] = []
  for (const bytes of updates) {
    if (bytes.length > MAX_UPDATE_BYTES) return { kind: 'invalid', reason: 'too many bytes' }
    let scan: ScannedUpdate
    try {
      scan = scanUpdate(bytes)
      checkShape(scan)
    } catch (error) {
      if (error instanceof InvalidUpdateError) return { kind: 'invalid', reason: error.message }
      throw error
    }
    if (!bringsNews(scan, knowledge, clockOf)) continue
    const reached = reachAll(scan, clockOf)
    if (reached === 'gap') return { kind: 'gap' }
    if (reached === 'cycle') return { kind: 'invalid', reason: 'operations that stand on each other' }
    for (const [client, clock] of reached) clocks.set(client, clock)
    if (scan.deletes.some((range) => range.clock + range.length > clockOf(range.client))) return { kind: 'gap' }
    fresh.push(bytes)
    scans.push(scan)
  }
  return {
    kind: 'accepted',
    fresh,
    learn: () => {
      for (const scan of scans) learn(knowledge, scan)
    },
  }
}

function checkShape(scan: ScannedUpdate): void {
  const depths = new Map<string, number>()
  for (const { client, structs } of scan.clients) {
    let empty = 0
    for (const struct of structs) {
      if (struct.root !== undefined && !ROOTS.has(struct.root)) throw new InvalidUpdateError('an unknown root')
      if (!struct.hasContent) empty += struct.length
      checkDepth(client, struct, depths)
    }
    if (empty > MAX_EMPTY_OPERATIONS) throw new InvalidUpdateError('a jump of the clock')
  }
}

/** Depth as far as this update alone tells: a type lies in its parent, or beside its neighbour. */
function checkDepth(client: number, struct: ScannedStruct, depths: Map<string, number>): void {
  if (!struct.isType) return
  const near = Math.max(0, ...struct.needs.map((id) => depths.get(keyOf(id)) ?? 0))
  const depth = struct.namesParent ? near + 1 : Math.max(near, 1)
  if (depth > MAX_TYPE_DEPTH) throw new InvalidUpdateError('types nested too deep')
  depths.set(keyOf({ client, clock: struct.clock }), depth)
}

function keyOf({ client, clock }: OperationId): string {
  return `${client}:${clock}`
}

/** False for what a reconnecting peer sends to be sure: operations and deletions that the log has. */
function bringsNews(scan: ScannedUpdate, knowledge: LogKnowledge, clockOf: (client: number) => number): boolean {
  const known = ({ client, structs }: ScannedUpdate['clients'][number]) => {
    const last = structs.at(-1)
    return !last || last.clock + last.length <= clockOf(client)
  }
  if (!scan.clients.every(known)) return true
  return !scan.deletes.every(({ client, clock, length }) =>
    covers(knowledge.deleted.get(client) ?? [], clock, clock + length),
  )
}

/**
 * Goes through the structs as a document would integrate them: each client's in order, as far as what they stand on is
 * there. Everything must be reached; what waits for itself in a circle never is.
 */
function reachAll(
  scan: ScannedUpdate,
  clockOf: (client: number) => number,
): ReadonlyMap<number, number> | 'gap' | 'cycle' {
  const ends = new Map<number, number>()
  for (const { client, structs } of scan.clients) {
    const [first] = structs
    const last = structs.at(-1)
    if (!first || !last) continue
    if (first.clock > clockOf(client)) return 'gap'
    ends.set(client, last.clock + last.length)
  }
  const clocks = new Map<number, number>()
  const reachedClock = (client: number) => clocks.get(client) ?? clockOf(client)
  const next = new Map(scan.clients.map(({ client }) => [client, 0]))
  const waiting = new Map<number, ScannedUpdate['clients'][number][]>()
  const ready = [...scan.clients]
  let missing = false
  for (let turn = ready.pop(); turn; turn = ready.pop()) {
    const { client, structs } = turn
    let at = next.get(client) ?? 0
    for (; at < structs.length; at++) {
      const struct = structs[at] as ScannedStruct
      const need = struct.needs.find((id) => id.client !== client && id.clock >= reachedClock(id.client))
      if (need) {
        missing ||= need.clock >= (ends.get(need.client) ?? 0)
        const others = waiting.get(need.client)
        if (others) others.push(turn)
        else waiting.set(need.client, [turn])
        break
      }
      clocks.set(client, Math.max(reachedClock(client), struct.clock + struct.length))
    }
    if (at > (next.get(client) ?? 0)) {
      ready.push(...(waiting.get(client) ?? []))
      waiting.delete(client)
    }
    next.set(client, at)
  }
  if (waiting.size === 0) return clocks
  return missing ? 'gap' : 'cycle'
}

function learn({ clocks, deleted }: LogKnowledge, scan: ScannedUpdate): void {
  for (const { client, structs } of scan.clients) {
    const last = structs.at(-1)
    if (last) clocks.set(client, Math.max(clocks.get(client) ?? 0, last.clock + last.length))
  }
  for (const { client, clock, length } of scan.deletes) {
    const ranges = deleted.get(client) ?? []
    addRange(ranges, clock, clock + length)
    deleted.set(client, ranges)
  }
}
