import type { Confirmation, Conversation, Decision, Snapshot } from '../../../../src/contract/session-snapshot.ts'
import type { SaveOutcome, SaveRequest } from '../../../../src/core/save-snapshot.ts'
import { outcomeOf, type Want } from '../../../../src/protocol/claim-status.ts'
import { commit } from './commit.ts'
import { askServer, releaseTurnLease, takeTurnLease } from './sync-steps.ts'
import { knows, load, permit } from './tab.ts'
import { type Device, keyOf, type Permission, SESSION, type Tab, Violation, type World } from './world.ts'

/** A user message with a deterministic answer. The page stores the message before the decision, or after it. */
export function takeTurn(world: World, device: Device, tab: Tab): void {
  const { random } = world
  const messageId = world.id('m')
  if (random.chance(0.8)) writeMessage(device, messageId)
  else tab.unsaved.push(messageId)
  const before: Conversation = tab.known?.conversation ?? { state: 's0', decisions: [] }
  const toState = random.pick(['s0', 's1', 's2']) ?? 's0'
  const decision: Decision = {
    messageId,
    input: 'go',
    routeId: 'step',
    kind: 'deterministic',
    content: 'done',
    fromState: before.state,
    toState,
  }
  const conversation = { state: toState, decisions: [...before.decisions, decision] }
  if (isStored(save(world, device, tab, { conversation }, `turn ${messageId}`))) {
    world.acknowledged.set(keyOf(decision), device)
  }
}

/** An earlier message is edited: what followed is dropped, and it is decided again. */
export function editTurn(world: World, device: Device, tab: Tab): void {
  const decisions = tab.known?.conversation?.decisions ?? []
  const index = Math.floor(world.random.next() * decisions.length)
  const edited = decisions[index]
  if (!edited) return
  const toState = world.random.pick(['s0', 's1', 's2']) ?? 's0'
  const again: Decision = { ...edited, input: world.id('edit'), toState }
  const conversation = { state: toState, decisions: [...decisions.slice(0, index), again] }
  if (!isStored(save(world, device, tab, { conversation }, `edit of ${edited.messageId}`))) return
  for (const dropped of decisions.slice(index)) world.acknowledged.delete(keyOf(dropped))
  world.acknowledged.set(keyOf(again), device)
}

export function storeMessage(world: World, device: Device, tab: Tab): void {
  const messageId = tab.unsaved.shift()
  if (messageId === undefined) return
  writeMessage(device, messageId)
  world.note(`${device.id} stores message ${messageId}`)
}

export function propose(world: World, device: Device, tab: Tab): void {
  const token = world.id('t')
  writeMessage(device, `call-${token}`)
  const expiresAt = world.now + (world.random.chance(0.1) ? 3_000 : 10_000_000)
  const status = world.random.chance(0.05) ? 'rejected' : 'pending'
  const proposed: Confirmation = { token, action: 'refund', input: {}, toolCallId: `call-${token}`, expiresAt, status }
  const confirmations = [...(tab.known?.confirmations ?? []), proposed]
  save(world, device, tab, { confirmations }, `propose ${token}`)
}

/** Two coordinators on one session object: one stores its list without what the other proposed. */
export function forgetConfirmation(world: World, device: Device, tab: Tab): void {
  const all = tab.known?.confirmations ?? []
  const forgotten = world.random.pick(all.filter(({ status }) => status === 'pending'))
  if (!forgotten) return
  const confirmations = all.filter((each) => each !== forgotten)
  save(world, device, tab, { confirmations }, `save without ${forgotten.token}`)
}

export function decide(world: World, device: Device, tab: Tab): void {
  const pending = tab.known?.confirmations.filter(({ status }) => status === 'pending') ?? []
  const chosen = world.random.pick(pending)
  // K2: the call has to be there, else there is nothing to run.
  if (!chosen || !device.document.has(chosen.toolCallId)) return
  const decided: Want = world.random.chance(0.6) ? 'approving' : 'rejecting'
  const want = decided === 'approving' && chosen.expiresAt <= world.now ? 'expiring' : decided
  const confirmations = withStatus(tab.known, chosen.token, want)
  const outcome = save(world, device, tab, { confirmations }, `${want} ${chosen.token}`)
  if (outcome?.kind === 'queued' && world.random.chance(0.3)) withdraw(world, device, chosen.token)
}

function withdraw(world: World, device: Device, token: string): void {
  const claim = device.session.claims.find((each) => each.token === token && each.state === 'waiting')
  if (!claim) return
  commit(device, world.core.withdrawClaim(device.session, claim.claimId))
  world.note(`${device.id} withdraws ${token}`)
}

export function claimTurn(world: World, device: Device, tab: Tab): void {
  if (tab.known?.activeTurn && tab.known.activeTurn.expiresAt > world.now) return
  const activeTurn = { turnId: world.id('turn'), expiresAt: world.now + 5_000 }
  save(world, device, tab, { activeTurn }, `take ${activeTurn.turnId}`)
}

export function releaseTurn(world: World, device: Device, tab: Tab): void {
  const turnId = tab.known?.activeTurn?.turnId
  if (turnId === undefined) return
  const terminalTurns = [...(tab.known?.terminalTurns ?? []), { turnId, outcome: 'completed' as const }].slice(-64)
  const outcome = save(world, device, tab, { activeTurn: undefined, terminalTurns }, `release ${turnId}`)
  if (isStored(outcome)) releaseTurnLease(world, device, turnId)
}

/** The effect happens: at most once for each token, whoever was given the permission. */
export function run(world: World, device: Device, permission: Permission): void {
  if (permission.ran) return
  permission.ran = true
  const { token, claimId } = permission
  const before = world.ran.get(token) ?? []
  world.ran.set(token, [...before, claimId])
  world.note(`${device.id} runs ${token} under ${claimId}`)
  if (before.length > 0) throw new Violation(`G1 G2 ${token} ran twice`)
}

export function settle(world: World, device: Device, { token, claimId, want, tab, bySave }: Permission): void {
  if (tab.waiting !== undefined) return
  const outcome = outcomeOf(want)
  device.permissions.delete(claimId)
  if (!bySave) {
    if (!commit(device, world.core.settleClaim(device.session, claimId, outcome))) {
      throw new Violation('K6 an outcome was not recorded')
    }
    world.note(`${device.id} settles ${token} from its row`)
    return
  }
  const saved = save(world, device, tab, { confirmations: withStatus(tab.known, token, outcome) }, `settle ${token}`)
  if (saved?.kind !== 'settled' && saved?.kind !== 'recorded') throw new Violation('K6 an outcome was not recorded')
}

/** `SessionStorage.save`, as the storage drives it: plain, turn, or claim. */
export function save(
  world: World,
  device: Device,
  tab: Tab,
  change: Partial<Snapshot>,
  what: string,
): SaveOutcome | undefined {
  if (tab.waiting !== undefined) return undefined
  const snapshot = asked(world, tab, change)
  const request: SaveRequest = {
    snapshot,
    expectedCursor: tab.expected,
    knownIncarnation: tab.incarnation,
    newIncarnation: world.id('inc'),
  }
  let outcome = commit(device, world.core.saveSnapshot(device.session, request))
  if (outcome.kind === 'needs-lease') {
    const lease = takeTurnLease(world, device, outcome)
    outcome = commit(device, world.core.saveSnapshot(device.session, { ...request, lease }))
  }
  if (outcome.kind === 'needs-claim') {
    const via = device.online && (world.healing || world.random.chance(0.9)) ? 'server' : 'offline'
    const route = {
      claimId: world.id('c'),
      via,
      lasting: device.lasting,
      deviceAt: world.now,
      foreign: true,
    } as const
    outcome = commit(device, world.core.saveSnapshot(device.session, { ...request, route }))
  }
  world.note(`${device.id} tab ${device.tabs.indexOf(tab)} ${what}, expected ${tab.expected}: ${outcome.kind}`)
  if (outcome.kind === 'stored' || outcome.kind === 'settled' || outcome.kind === 'run') knows(tab, device, snapshot)
  if (outcome.kind === 'conflict' || outcome.kind === 'recorded') load(device, tab)
  if (outcome.kind === 'run') {
    if (world.server.state().claims.has(outcome.claim.token))
      throw new Violation('K1 a token that left is decided here')
    permit(device, tab, outcome.claim.claimId)
  }
  if (outcome.kind === 'ask') askServer(world, device, tab, outcome.claim, { snapshot, expectedCursor: tab.expected })
  return outcome
}

function isStored(outcome: SaveOutcome | undefined): boolean {
  return outcome?.kind === 'stored'
}

function writeMessage(device: Device, messageId: string): void {
  device.document.add(messageId)
  device.written.push(messageId)
}

function withStatus(
  known: Snapshot | undefined,
  token: string,
  status: Confirmation['status'],
): readonly Confirmation[] {
  return (known?.confirmations ?? []).map((each) => (each.token === token ? { ...each, status } : each))
}

function asked(world: World, { known, expected }: Tab, change: Partial<Snapshot>): Snapshot {
  const { activeTurn, ...kept }: Snapshot = known ?? {
    protocol: 'agentskit.chat.session',
    version: 1,
    sessionId: SESSION,
    definitionId: 'definition',
    definitionRevision: 1,
    updatedAt: '',
    cursor: 0,
    confirmations: [],
  }
  const turn = 'activeTurn' in change ? change.activeTurn : activeTurn
  const { activeTurn: _turn, ...rest } = change
  return {
    ...kept,
    ...rest,
    ...(turn && { activeTurn: turn }),
    cursor: (expected ?? 0) + 1,
    updatedAt: new Date(world.now).toISOString(),
  }
}
