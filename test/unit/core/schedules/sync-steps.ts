import type { AskedSave } from '../../../../src/core/claim-lifecycle.ts'
import { isLive, isUndelivered } from '../../../../src/core/claim-rows.ts'
import { cutOrphans } from '../../../../src/core/cut-orphans.ts'
import type { ClaimRow, SessionRow } from '../../../../src/core/device-session.ts'
import { leftIn } from '../../../../src/core/left-tokens.ts'
import { createSessionRow, type SaveOutcome } from '../../../../src/core/save-snapshot.ts'
import { isWant, outcomeOf } from '../../../../src/protocol/claim-status.ts'
import type { ClaimAnswer, PutClaim } from '../../../../src/protocol/put-claim.ts'
import type { PutSession } from '../../../../src/protocol/put-session.ts'
import type { SessionAnswer } from '../../../../src/protocol/session-answer.ts'
import { commit } from './commit.ts'
import { type Answered, EPOCH } from './rule-server.ts'
import { knows, load, permit } from './tab.ts'
import { type Device, keyOf, type Tab, Violation, type World } from './world.ts'

/**
 * One request: it may be lost, or arrive late; its answer too. `answered` runs when the answer arrives; `lost` when the
 * asker gives up waiting.
 */
function request<T>(world: World, device: Device, serve: () => T, answered: (answer: T) => void): void {
  const { random, network, healing } = world
  if (!device.online) return
  const losses = healing ? 0 : 1
  const reply = (answer: T) => {
    if (random.chance(0.1 * losses)) world.note(`${device.id} the reply is lost`)
    else if (random.chance(0.2 * losses)) network.push(() => answered(answer))
    else answered(answer)
  }
  if (random.chance(0.08 * losses)) world.note(`${device.id} the request is lost`)
  else if (random.chance(0.1 * losses)) network.push(() => reply(serve()))
  else reply(serve())
}

/** Takes an answer in: the row and its incarnation, the messages, then the snapshot. */
function receive(world: World, device: Device, answer: SessionAnswer): boolean {
  const context = { sessionId: 'session', epoch: EPOCH, now: world.now, mayBegin: true }
  const bare = { ...answer, snapshot: null, etag: null }
  const prepared = commit(device, world.core.applyAnswer(device.session, bare, { ...context, holdBack: false }))
  if (prepared.kind === 'replaced') throw new Violation('I2 a session was taken for deleted')
  if (prepared.kind !== 'no-snapshot') return false
  if (!pullMessages(world, device, answer.head)) return false
  const holdBack = holdsBack(device)
  const theirs = answer.snapshot?.conversation?.decisions ?? []
  const news = theirs.some((decision) => !device.seen.has(keyOf(decision)))
  const applied = commit(
    device,
    world.core.applyAnswer(device.session, answer, {
      ...context,
      holdBack,
      hasMessage: (messageId) => device.document.has(messageId),
    }),
  )
  if (applied.kind === 'applied' && applied.changed && holdsBack(device)) {
    throw new Violation('K5 a snapshot moved under a running claim')
  }
  if (applied.kind === 'applied' && applied.diverged.length > 0 && !news) {
    throw new Violation('R4 a device diverged from what it had itself')
  }
  const { row } = device.session
  world.note(
    `${device.id} takes ${answer.snapshot?.cursor ?? 'no snapshot'}: ${applied.kind}, local ${row?.local?.cursor}, base ${row?.base?.cursor}${row?.dirty ? ', dirty' : ''}`,
  )
  return true
}

function pullMessages({ random, server, healing }: World, device: Device, head: number): boolean {
  const { row } = device.session
  if (!row) return false
  if (row.pulled >= head) return true
  if (!healing && random.chance(0.1)) return false
  for (const messageId of server.log.slice(row.pulled, head)) device.document.add(messageId)
  setRow(device, { ...row, confirmed: true, pulled: head })
  return true
}

function holdsBack(device: Device): boolean {
  return device.foreignLayer && device.session.claims.some(({ claimId }) => device.permissions.has(claimId))
}

/** An answer that waited for a running claim. */
export function takeIncoming(world: World, device: Device): void {
  const incoming = device.session.row?.incoming
  if (incoming && !holdsBack(device)) receive(world, device, incoming)
}

export function pull(world: World, device: Device): void {
  request(
    world,
    device,
    () => world.server.get(device.id),
    (answer) => answer && receive(world, device, answer),
  )
}

export function pushMessages(world: World, device: Device): void {
  if (device.written.length === 0) return
  if (!device.session.row) setRow(device, createSessionRow('session', world.id('inc')))
  const { row } = device.session
  if (!row || row.acked >= device.written.length) return
  const sent = device.written.length
  request(
    world,
    device,
    () => world.server.post(device.id, row.incarnation, device.written.slice(row.acked, sent)),
    (reply) => {
      if (reply.kind === 'answer') {
        const now = device.session.row
        if (now?.incarnation === row.incarnation && now.acked < sent)
          setRow(device, { ...now, confirmed: true, acked: sent })
      } else refused(world, device, reply)
    },
  )
}

function refused(
  world: World,
  device: Device,
  { problem, current }: Extract<Answered<object>, { kind: 'refused' }>,
): void {
  if (problem.code !== 'other-incarnation' || !current) throw new Violation(`the server refused: ${problem.code}`)
  receive(world, device, current)
}

export function push(world: World, device: Device): void {
  if (cutWhatIsMissing(world, device)) return
  const { row } = device.session
  const step = commit(
    device,
    world.core.beginPush(device.session, {
      epoch: EPOCH,
      newWriteId: world.id('w'),
      unackedUpdates: (row?.acked ?? 0) < device.written.length,
      holdBack: holdsBack(device),
    }),
  )
  if (step.kind !== 'put' || !device.online) return
  world.note(`${device.id} puts ${step.request.snapshot.cursor} as ${step.request.writeId}`)
  requireSeen(world, device, step.request)
  request(
    world,
    device,
    () => store(world, device, step.request, step.ifMatch),
    (reply) => {
      const { writeId } = step.request
      if (reply.kind === 'answer') {
        if (receive(world, device, reply.body)) commit(device, world.core.forgetPush(device.session, writeId))
        return
      }
      commit(device, world.core.forgetPush(device.session, writeId))
      refused(world, device, reply)
    },
  )
}

/** Rule R8: the decision names a message that no page will store any more. True: the snapshot cannot be sent now. */
function cutWhatIsMissing(world: World, device: Device): boolean {
  const { row } = device.session
  const conversation = row?.local?.conversation
  if (!row?.local || !conversation || row.sent) return false
  const missing = conversation.decisions.filter(({ messageId }) => !device.document.has(messageId))
  if (missing.length === 0) return false
  const awaited = missing.some(({ messageId }) => device.tabs.some((tab) => tab?.unsaved.includes(messageId)))
  if (awaited) return true
  const cut = commit(
    device,
    cutOrphans(device.session, row.local.cursor, (id) => device.document.has(id)),
  )
  if (!cut) throw new Violation('R8 nothing was cut where a message is missing')
  world.note(`${device.id} cuts decisions`)
  return true
}

function store(world: World, device: Device, body: PutSession, ifMatch: string | null): Answered<SessionAnswer> {
  const before = world.server.state()
  const reply = world.server.put(device.id, body, ifMatch)
  if (reply.kind === 'answer' && reply.body.etag !== reply.body.etagBefore) {
    for (const decision of before.snapshot?.conversation?.decisions ?? []) {
      if (!device.seen.has(keyOf(decision))) throw new Violation('a PUT overwrote what was not seen')
    }
    world.note(`  the server stores ${reply.body.snapshot?.cursor} of ${device.id}`)
  }
  return reply
}

/** Rule K9: nothing that only this device decided is in a PUT before the server knows. */
function requireSeen(world: World, device: Device, { snapshot }: PutSession): void {
  for (const { token, status } of snapshot.confirmations) {
    const known = world.server.state().claims.has(token)
    const undelivered = device.session.claims.some((claim) => claim.token === token && claim.own && isLive(claim))
    if (isWant(status) && undelivered && !known) throw new Violation('K9 a PUT shows a decision that was not delivered')
  }
}

export function takeTurnLease(
  world: World,
  device: Device,
  { turnId, incarnation }: Extract<SaveOutcome, { kind: 'needs-lease' }>,
): { granted: boolean } {
  if (!device.online || world.random.chance(0.2)) return { granted: true }
  const reply = world.server.turn(device.id, { op: 'take', incarnation, turnId, leaseMs: 5_000 })
  return { granted: reply.kind === 'answer' ? reply.body.granted : true }
}

/** Told later, or never: the lease ends by the server's clock anyway. */
export function releaseTurnLease(world: World, device: Device, turnId: string): void {
  const incarnation = device.session.row?.incarnation
  if (!device.online || incarnation === undefined) return
  world.server.turn(device.id, { op: 'release', incarnation, turnId, outcome: 'completed' })
}

/** One bounded round trip of a save, whose page holds the lock meanwhile. */
export function askServer(world: World, device: Device, tab: Tab, row: ClaimRow, asked: AskedSave): void {
  tab.waiting = row.claimId
  request(
    world,
    device,
    () => world.server.claim(device.id, row.token, claimRequest(device, row)),
    (reply) => {
      if (tab.waiting !== row.claimId || !device.tabs.includes(tab)) return
      tab.waiting = undefined
      takeClaimAnswer(world, device, row, reply, asked, tab)
    },
  )
}

/** The wait of a save is over: the row stays, and the save rejects with `claim-queued`. */
export function giveUp(world: World, device: Device, tab: Tab): void {
  if (tab.waiting === undefined) return
  world.note(`${device.id} gives up waiting for ${tab.waiting}`)
  tab.waiting = undefined
}

/** Sends what is queued, asks again what was not answered, tells what was settled; one request. */
export function dispatch(world: World, device: Device): void {
  const { session } = device
  const open = session.claims.filter(
    (claim) =>
      (claim.own && isUndelivered(session, claim)) ||
      claim.state === 'waiting' ||
      claim.state === 'sent' ||
      (claim.state === 'settled' && !claim.told),
  )
  const claim = world.random.pick(open)
  if (!claim || !device.online) return
  const { row } = session
  const delivered = !claim.own || row?.claims[claim.token]?.claimId === claim.claimId
  if (claim.state === 'settled' && delivered) {
    tell(world, device, claim)
    return
  }
  // K2: a claim that creates its token waits for the messages; two senders at once are harmless.
  const creates = !row?.base?.snapshot.confirmations.some(({ token }) => token === claim.token)
  if (creates && (row?.acked ?? 0) < device.written.length) return
  const locked = device.tabs.some((tab) => tab?.waiting === claim.claimId)
  if (locked && world.random.chance(0.7)) return
  const sent = commit(device, world.core.sendClaim(session, claim.claimId, EPOCH))
  if (!sent) return
  request(
    world,
    device,
    () => world.server.claim(device.id, sent.token, claimRequest(device, sent)),
    (reply) => takeClaimAnswer(world, device, sent, reply, undefined, undefined),
  )
}

function tell(world: World, device: Device, claim: ClaimRow): void {
  const { claimId, attempt, outcome, token } = claim
  const incarnation = device.session.row?.incarnation
  if (!outcome || incarnation === undefined) return
  request(
    world,
    device,
    () => world.server.claim(device.id, token, { op: 'settle', incarnation, claimId, attempt, outcome }),
    (reply) => {
      if (reply.kind === 'refused') {
        refused(world, device, reply)
        return
      }
      world.note(`${device.id} tells ${token} ${outcome}: ${reply.body.result}`)
      if (reply.body.result === 'refused') throw new Violation(`a settlement was refused: ${reply.body.problem?.code}`)
      commit(device, world.core.markTold(device.session, claimId, reply.body))
      receive(world, device, reply.body)
    },
  )
}

function claimRequest({ session }: Device, claim: ClaimRow): PutClaim {
  const { claimId, want, confirmation, token, own } = claim
  const incarnation = session.row?.incarnation ?? claim.incarnation
  const left = own ? null : (leftIn(session.row?.left ?? {}, token) ?? null)
  return { op: 'claim', incarnation, claimId, want, confirmation, leftIn: left }
}

function takeClaimAnswer(
  world: World,
  device: Device,
  claim: ClaimRow,
  reply: Answered<ClaimAnswer>,
  asked: AskedSave | undefined,
  tab: Tab | undefined,
): void {
  if (reply.kind === 'refused') {
    refused(world, device, reply)
    return
  }
  const { body } = reply
  const outcome = commit(device, world.core.acceptClaimAnswer(device.session, claim.claimId, body, asked, world.now))
  world.note(`${device.id} hears ${claim.token} ${claim.claimId}: ${body.result}, ${outcome.kind}`)
  if (tab && asked && outcome.kind === 'run') {
    knows(tab, device, asked.snapshot)
    permit(device, tab, claim.claimId)
  }
  if (tab && outcome.kind === 'lost') load(device, tab)
  receive(world, device, body)
}

/** A page that shows the session runs a queued claim that won. */
export function startWon(world: World, device: Device): void {
  const tab = world.random.pick(device.tabs.filter((each) => each !== undefined))
  // What a page sees is what was: the transaction has to look again.
  const seen = world.random.pick(device.session.claims.filter(isLive))
  if (!tab || !seen) return
  const { claimId, token, want } = seen
  if (!commit(device, world.core.startWonClaim(device.session, claimId, world.now))) return
  device.permissions.set(claimId, { claimId, token, want, tab, bySave: false, ran: false })
  world.note(`${device.id} starts ${token} from its row`)
}

/** The lock of a run is free, or it takes long: it is listed. */
export function sweep(world: World, device: Device): void {
  for (const { claimId, state, token } of device.session.claims) {
    if (state !== 'running') continue
    if (device.permissions.has(claimId) && !world.random.chance(0.02)) continue
    commit(device, world.core.raiseAttention(device.session, claimId, undefined))
    world.note(`${device.id} lists ${token}`)
  }
}

/** A person looks at what really happened, and says so. False: nobody is asked. */
export function resolveAttention(world: World, device: Device): boolean {
  const { session } = device
  const claim = world.random.pick(session.claims.filter(({ state }) => state === 'attention'))
  const incarnation = session.row?.incarnation
  if (!claim || incarnation === undefined || device.permissions.has(claim.claimId)) return false
  const { claimId, token, attempt, want } = claim
  if (world.ran.get(token)?.includes(claimId)) {
    commit(device, world.core.settleClaim(session, claimId, outcomeOf(want)))
    world.note(`${device.id} a person says that ${token} ran`)
    return true
  }
  request(
    world,
    device,
    () => world.server.claim(device.id, token, { op: 'release', incarnation, claimId, attempt }),
    (reply) => {
      if (reply.kind === 'refused') {
        refused(world, device, reply)
        return
      }
      const released = commit(device, world.core.releaseClaim(device.session, claimId, reply.body))
      world.note(`${device.id} a person says that ${token} did not run: ${reply.body.result}, ${released}`)
      receive(world, device, reply.body)
    },
  )
  return true
}

/** A person on another device ends an attempt that broke off there before anything ran. */
export function takeOver(world: World, device: Device, holder: Device): void {
  const broken = world.random.pick(
    holder.session.claims.filter(
      ({ state, claimId, token }) =>
        state === 'attention' && !holder.permissions.has(claimId) && !world.ran.get(token)?.includes(claimId),
    ),
  )
  const view = broken && device.session.row?.claims[broken.token]
  const incarnation = device.session.row?.incarnation
  if (!view || view.claimId !== broken.claimId || incarnation === undefined) return
  const { token, attempt } = view
  const claimId = world.id('c')
  request(
    world,
    device,
    () => world.server.claim(device.id, token, { op: 'take-over', incarnation, claimId, attempt, note: 'broken' }),
    (reply) => {
      if (reply.kind === 'refused') {
        refused(world, device, reply)
        return
      }
      world.note(`${device.id} takes ${token} over from ${holder.id}: ${reply.body.result}`)
      receive(world, device, reply.body)
    },
  )
}

function setRow(device: Device, row: SessionRow): void {
  commit(device, { change: { row }, result: undefined })
}
