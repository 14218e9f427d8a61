import { decodeSnapshot } from '../../../../src/contract/decode-snapshot.ts'
import { isLive } from '../../../../src/core/claim-rows.ts'
import { sameContent } from '../../../../src/core/same-content.ts'
import { isWant } from '../../../../src/protocol/claim-status.ts'
import {
  dispatch,
  giveUp,
  pull,
  push,
  pushMessages,
  resolveAttention,
  startWon,
  sweep,
  takeIncoming,
  takeOver,
} from './sync-steps.ts'
import { closeTab, load, openTab } from './tab.ts'
import {
  claimTurn,
  decide,
  editTurn,
  forgetConfirmation,
  propose,
  releaseTurn,
  run,
  save,
  settle,
  storeMessage,
  takeTurn,
} from './tab-steps.ts'
import { type Core, createWorld, type Device, keyOf, realCore, Violation, type World } from './world.ts'

export interface Outcome {
  /** The rule that did not hold, if any. */
  readonly violation?: string
  /** What happened, line by line. */
  readonly log: readonly string[]
}

/** Two devices with two pages each, and a network that loses and delays; then everything heals and is compared. */
export function runSchedule(seed: number, steps: number, core: Core = realCore): Outcome {
  const log: string[] = []
  const world = createWorld(seed, core, (line) => log.push(line))
  try {
    if (world.random.chance(0.6)) beginTogether(world)
    // Each schedule has a mood of its own: what is rare in one is what another is made of.
    const mood = Array.from({ length: 32 }, () => world.random.pick([0.2, 1, 1, 1, 4]) ?? 1)
    for (let count = 0; count < steps; count++) step(world, mood)
    heal(world)
    compare(world)
    goOn(world)
    compare(world)
  } catch (error) {
    if (error instanceof Violation) return { violation: error.message, log }
    log.push(String(error instanceof Error ? error.stack : error))
    return { violation: `an error: ${String(error)}`, log }
  }
  return { log }
}

/** One session that both know; else each may make it on its own. */
function beginTogether(world: World): void {
  const [first] = world.devices
  const online = world.devices.map((device) => device.online)
  const tab = openTab(first, 0)
  takeTurn(world, first, tab)
  propose(world, first, tab)
  propose(world, first, tab)
  heal(world)
  world.healing = false
  world.devices.forEach((device, index) => {
    device.online = online[index] ?? true
  })
}

function step(world: World, mood: readonly number[]): void {
  const { random, devices } = world
  world.now += Math.floor(random.next() * 400)
  const index = random.chance(0.5) ? 0 : 1
  const device = devices[index]
  const tabIndex = random.chance(0.5) ? 0 : 1
  const tab = device.tabs[tabIndex] ?? openTab(device, tabIndex)
  if (random.chance(0.5) && tab.waiting === undefined) load(device, tab)
  const permission = random.pick([...device.permissions.values()])
  const kinds: readonly [number, () => void][] = [
    [7, () => takeTurn(world, device, tab)],
    [3, () => editTurn(world, device, tab)],
    [6, () => storeMessage(world, device, tab)],
    [5, () => propose(world, device, tab)],
    [1, () => forgetConfirmation(world, device, tab)],
    [16, () => decide(world, device, tab)],
    [2, () => claimTurn(world, device, tab)],
    [2, () => releaseTurn(world, device, tab)],
    [8, () => permission && run(world, device, permission)],
    [12, () => permission?.ran && settle(world, device, permission)],
    [2, () => closeTab(world, device, tabIndex)],
    [2, () => giveUp(world, device, tab)],
    [16, () => sync(world, device)],
    [5, () => pushMessages(world, device)],
    [8, () => push(world, device)],
    [12, () => pull(world, device)],
    [8, () => dispatch(world, device)],
    [5, () => startWon(world, device)],
    [4, () => sweep(world, device)],
    [3, () => resolveAttention(world, device)],
    [2, () => takeOver(world, device, devices[1 - index] ?? device)],
    [3, () => takeIncoming(world, device)],
    [10, () => deliver(world)],
    [device.online ? 3 : 8, () => switchNetwork(world, device)],
  ]
  const weighed = kinds.map(([weight, act], index) => [weight * (mood[index] ?? 1), act] as const)
  let at = random.next() * weighed.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, act] of weighed) {
    at -= weight
    if (at < 0) {
      act()
      return
    }
  }
}

/** What a sender does when it is woken: messages, claims and settlements, snapshot. */
function sync(world: World, device: Device): void {
  takeIncoming(world, device)
  pushMessages(world, device)
  dispatch(world, device)
  push(world, device)
}

function deliver({ random, network }: World): void {
  const [delivery] = network.splice(Math.floor(random.next() * network.length), 1)
  delivery?.()
}

function switchNetwork(world: World, device: Device): void {
  device.online = !device.online
  world.note(`${device.id} is ${device.online ? 'online' : 'offline'}`)
}

/** Nothing is lost any more, and everybody does what is left to do. */
function heal(world: World): void {
  world.healing = true
  world.note('-- heal')
  for (const device of world.devices) {
    device.online = true
    // A queued decision that won runs in a page only.
    if (!device.tabs.some((tab) => tab)) openTab(device, 0)
  }
  for (let round = 0; round < 200; round++) {
    const before = world.devices.map(({ session }) => session)
    const served = world.server.state()
    while (world.network.length > 0) deliver(world)
    for (const device of world.devices) {
      for (const tab of device.tabs) {
        if (!tab) continue
        giveUp(world, device, tab)
        while (tab.unsaved.length > 0) storeMessage(world, device, tab)
      }
      for (const permission of [...device.permissions.values()]) {
        run(world, device, permission)
        settle(world, device, permission)
      }
      sync(world, device)
      pull(world, device)
      for (const _ of device.session.claims) startWon(world, device)
      sweep(world, device)
    }
    if (served !== world.server.state() || world.devices.some(({ session }, index) => session !== before[index]))
      continue
    if (world.devices.every((device) => !resolveAttention(world, device))) return
  }
  throw new Violation('the devices never come to rest')
}

function compare(world: World): void {
  const { server, devices, acknowledged, ran } = world
  const stored = server.state().snapshot
  for (const device of devices) {
    const { row, claims } = device.session
    const { id } = device
    const live = claims.filter((claim) => isLive(claim))
    if (live.length > 0)
      throw new Violation(`${live[0]?.state} stays ${live[0]?.token} on ${id} after everything healed`)
    if (claims.some((claim) => claim.state === 'settled' && !claim.told))
      throw new Violation('K6 a settlement stays untold')
    if (!row?.local && !stored) continue
    if (!row?.local || !stored) throw new Violation('G5 a snapshot is on one side only')
    if (!decodeSnapshot(row.local).ok) throw new Violation('G6 the stored snapshot is not valid')
    if (row.sent) throw new Violation('R3 a PUT stays unanswered')
    if (row.incoming) throw new Violation('K5 an answer stays held back')
    if (row.dirty) throw new Violation('R2 a row stays dirty')
    if (row.refused) throw new Violation('a PUT was refused')
    if (!sameContent(row.local, stored)) throw new Violation('G5 device and server differ')
    if (server.log.some((message) => !device.document.has(message))) throw new Violation('G5 the documents differ')
    if (device.written.some((message) => !server.log.includes(message))) throw new Violation('G4 a message is lost')
  }
  const kept = new Set([
    ...(stored?.conversation?.decisions ?? []).map(keyOf),
    ...devices.flatMap(({ session }) => (session.row?.diverged ?? []).map(keyOf)),
  ])
  for (const [decision, device] of acknowledged) {
    if (!kept.has(decision)) throw new Violation(`G4 the acknowledged ${decision} of ${device.id} is lost`)
  }
  for (const { token, status } of stored?.confirmations ?? []) {
    if (isWant(status)) throw new Violation(`K8 ${token} stays ${status} and nobody is asked`)
    const times = ran.get(token)?.length ?? 0
    if (times === 0 && status === 'approved') throw new Violation(`G3 ${token} is approved and never ran`)
    if (times > 0 && status === 'pending') throw new Violation(`K6 ${token} ran and is pending`)
  }
}

/** No session stays wedged: both can go on, and what one proposes the other may decide. */
function goOn(world: World): void {
  world.note('-- use again')
  const [proposer, decider] = world.random.chance(0.5) ? world.devices : world.devices.toReversed()
  if (!proposer || !decider) return
  const tab = openTab(proposer, 0)
  if (save(world, proposer, tab, {}, 'save again')?.kind !== 'stored') throw new Violation(`${proposer.id} is wedged`)
  const before = new Set(tab.known?.confirmations.map(({ token }) => token))
  propose(world, proposer, tab)
  const proposed = tab.known?.confirmations.find(({ token }) => !before.has(token))
  heal(world)
  if (proposed?.status !== 'pending' || proposed.expiresAt <= world.now) return
  const other = openTab(decider, 1)
  const confirmations = (other.known?.confirmations ?? []).map((each) =>
    each.token === proposed.token ? { ...each, status: 'approving' as const } : each,
  )
  const outcome = save(world, decider, other, { confirmations }, `approve ${proposed.token}`)
  if (outcome?.kind === 'conflict') throw new Violation(`${decider.id} is wedged`)
  heal(world)
  if (world.ran.get(proposed.token)?.length !== 1) throw new Violation('a new decision does not run')
}
