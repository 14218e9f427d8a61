import type { Decision, Snapshot } from '../../../../src/contract/session-snapshot.ts'
import { applyAnswer } from '../../../../src/core/apply-answer.ts'
import {
  acceptClaimAnswer,
  markTold,
  raiseAttention,
  releaseClaim,
  sendClaim,
  settleClaim,
  startWonClaim,
  withdrawClaim,
} from '../../../../src/core/claim-lifecycle.ts'
import type { DeviceSession } from '../../../../src/core/device-session.ts'
import { beginPush, forgetPush, refusePush } from '../../../../src/core/push-snapshot.ts'
import { saveSnapshot } from '../../../../src/core/save-snapshot.ts'
import type { Want } from '../../../../src/protocol/claim-status.ts'
import { createRandom, type Random } from './random.ts'
import { createRuleServer, type RuleServer } from './rule-server.ts'

/** The decisions under test; a broken variant replaces some. */
export const realCore = {
  saveSnapshot,
  beginPush,
  forgetPush,
  refusePush,
  applyAnswer,
  sendClaim,
  acceptClaimAnswer,
  startWonClaim,
  settleClaim,
  markTold,
  raiseAttention,
  releaseClaim,
  withdrawClaim,
}
export type Core = typeof realCore

/** One page: what its session object knows, and the messages that it has yet to store. */
export interface Tab {
  known: Snapshot | undefined
  expected: number | undefined
  incarnation: string | undefined
  unsaved: string[]
  /** The claim whose answer its save waits for. */
  waiting: string | undefined
}

/** The permission to run one decision, as a page holds it. */
export interface Permission {
  readonly claimId: string
  readonly token: string
  readonly want: Want
  readonly tab: Tab
  /** Given by a save, which also settles; else by a queued claim that won. */
  readonly bySave: boolean
  ran: boolean
}

export interface Device {
  readonly id: string
  session: DeviceSession
  /** The messages of the document, and those that this device wrote, in order. */
  readonly document: Set<string>
  written: string[]
  readonly tabs: [Tab | undefined, Tab | undefined]
  online: boolean
  /** Its session layer is not ours: nothing is pushed or merged while a claim runs, rule K5. */
  readonly foreignLayer: boolean
  /** Its storage lasts: it may decide what never left it, rule K1. */
  readonly lasting: boolean
  readonly permissions: Map<string, Permission>
  /** Every decision that it ever had on disk. */
  readonly seen: Set<string>
}

export interface World {
  readonly random: Random
  readonly core: Core
  readonly server: RuleServer
  readonly devices: readonly [Device, Device]
  /** Messages of the network that are still under way, each a delivery. */
  readonly network: (() => void)[]
  /** No more losses: everything is delivered at once. */
  healing: boolean
  now: number
  /** Token → the claims under which its decision ran. */
  readonly ran: Map<string, string[]>
  /** Decisions that a save acknowledged and nobody took back. */
  readonly acknowledged: Map<string, Device>
  readonly note: (line: string) => void
  readonly id: (prefix: string) => string
}

/** A rule that did not hold. */
export class Violation extends Error {
  override readonly name = 'Violation'
}

export const SESSION = 'session'

export function createWorld(seed: number, core: Core, note: (line: string) => void): World {
  const random = createRandom(seed)
  let last = 0
  const world: World = {
    random,
    core,
    server: createRuleServer(SESSION, () => world.now),
    devices: [createDevice('A', random), createDevice('B', random)],
    network: [],
    healing: false,
    now: 1_000_000,
    ran: new Map(),
    acknowledged: new Map(),
    note,
    id: (prefix) => `${prefix}${++last}`,
  }
  return world
}

function createDevice(id: string, random: Random): Device {
  return {
    id,
    session: { row: undefined, claims: [], deletes: [] },
    document: new Set(),
    written: [],
    tabs: [undefined, undefined],
    online: random.chance(0.8),
    foreignLayer: random.chance(0.4),
    lasting: random.chance(0.9),
    permissions: new Map(),
    seen: new Set(),
  }
}

export function keyOf({ messageId, input }: Decision): string {
  return `${messageId}=${input}`
}
