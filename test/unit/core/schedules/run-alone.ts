import { dispatch, pull, push, pushMessages, takeIncoming } from './sync-steps.ts'
import { openTab } from './tab.ts'
import { claimTurn, decide, editTurn, propose, releaseTurn, run, settle, storeMessage, takeTurn } from './tab-steps.ts'
import { createWorld, realCore, type World } from './world.ts'

/**
 * One device, one page, and answers that are lost, late and twice; only a claim gets its answer at once. Returns what
 * happened, line by line.
 */
export function runAlone(seed: number, steps: number): readonly string[] {
  const log: string[] = []
  const world = createWorld(seed, realCore, (line) => log.push(line))
  const { random, devices, network } = world
  const [device] = devices
  const tab = openTab(device, 0)
  device.online = true
  const kinds: readonly (() => void)[] = [
    () => takeTurn(world, device, tab),
    () => takeTurn(world, device, tab),
    () => editTurn(world, device, tab),
    () => storeMessage(world, device, tab),
    () => propose(world, device, tab),
    () => answeredAtOnce(world, () => decide(world, device, tab)),
    () => answeredAtOnce(world, () => decide(world, device, tab)),
    () => claimTurn(world, device, tab),
    () => releaseTurn(world, device, tab),
    () => pushMessages(world, device),
    () => pushMessages(world, device),
    () => push(world, device),
    () => push(world, device),
    () => pull(world, device),
    () => dispatch(world, device),
    () => dispatch(world, device),
    () => takeIncoming(world, device),
    () => network.splice(Math.floor(random.next() * network.length), 1)[0]?.(),
    ...[...Array(3)].map(() => () => {
      const permission = random.pick([...device.permissions.values()])
      if (!permission) return
      run(world, device, permission)
      settle(world, device, permission)
    }),
  ]
  for (let count = 0; count < steps; count++) {
    world.now += Math.floor(random.next() * 400)
    random.pick(kinds)?.()
  }
  return log
}

function answeredAtOnce(world: World, act: () => void): void {
  world.healing = true
  act()
  world.healing = false
}
