import type { RawData, WebSocket } from 'ws'
import * as Y from 'yjs'
import { isSafeId } from '../../src/contract/safe-id.ts'
import { PROTOCOL_VERSION } from '../../src/protocol/answer-fields.ts'
import { CLOSE_CODES } from '../../src/protocol/close-codes.ts'
import { MAX_FRAME_BYTES, UPDATES_PAGE_BYTES } from '../../src/protocol/limits.ts'
import type { Signal } from '../../src/protocol/signal.ts'
import type { ServerIdentity } from './caller.ts'
import { createMergedLog } from './merged-log.ts'
import { createRoom, type Room } from './room.ts'
import { decodeRoomFrame, encodeStep1, encodeStep2, encodeUpdate, type RoomFrame } from './room-frames.ts'
import { createMember, type Member, type Peer } from './room-member.ts'
import { isRefusal } from './rules/reply.ts'
import { etagOf } from './rules/session-answer.ts'
import type { SessionRecord } from './rules/session-state.ts'
import type { SessionChanges } from './session-changes.ts'
import type { AppendOutcome, UpdateLog } from './update-log.ts'

/** The rooms: sockets that follow a session, in y-websocket's protocol and, for our own clients, with signals. */
export interface Relay {
  /** Takes an upgraded socket over; who it is and that it may be here was decided before. */
  readonly join: (socket: WebSocket, peer: Peer) => void
  readonly socketCount: () => number
  /** Sends everybody away, to come back later. */
  readonly close: () => void
}

export interface RelayOptions {
  readonly server: ServerIdentity
  readonly changes: SessionChanges
  readonly log: UpdateLog
  /** Told why a socket was closed for something that it did. */
  readonly onMisuse?: (peer: Peer, reason: string) => void
}

const HEARTBEAT_MS = 30_000
const CUT_OFF_MS = 2000
/** Marks that wait for the repair of a gap: of one socket, and of all in a room. */
const MAX_HELD_MARKS = 64
const MAX_HELD_MARKS_IN_ROOM = 1024
const SERVICE_RESTART = 1012
/** Before the bytes of an update: type, step, length. */
const FRAME_HEAD_BYTES = 8
const EMPTY_UPDATE = new Uint8Array([0, 0])

/** Which close code says to a socket what a refusal says over HTTP. */
const CLOSE_CODE_OF: Readonly<Record<string, number>> = {
  deleted: CLOSE_CODES.deleted,
  'other-incarnation': CLOSE_CODES.otherIncarnation,
  'too-large': CLOSE_CODES.tooLarge,
  'update-invalid': CLOSE_CODES.updateInvalid,
}

/**
 * Order: an update is committed, then acknowledged (a later `mark` is answered), then passed on, never to the socket
 * that it came from. There are no live documents: the log answers.
 */
export function createRelay({ server, changes, log, onMisuse }: RelayOptions): Relay {
  const { store, now } = server
  const rooms = new Map<string, Room>()
  const stop = changes.subscribe((moved) => rooms.get(`${moved.account}\0${moved.sessionId}`)?.pass(moved))
  const heartbeat = setInterval(() => {
    for (const room of rooms.values()) for (const member of room.members) member.beat()
  }, HEARTBEAT_MS).unref()

  function join(socket: WebSocket, peer: Peer): void {
    const { account, sessionId } = peer
    const key = `${account}\0${sessionId}`
    const known = rooms.get(key)
    const room =
      known ?? createRoom(createMergedLog((after, maxBytes) => store.updates({ account, sessionId }, after, maxBytes)))
    if (!known) rooms.set(key, room)
    const member = createMember(socket, peer, now)
    room.add(member)
    socket.on('message', (data, isBinary) => {
      // Sent away, it may go on sending until it hears of that: nobody would tell it what became of it.
      if (member.isClosing()) return
      const bytes = isBinary ? toBytes(data) : undefined
      const frame = bytes && decodeRoomFrame(bytes)
      if (bytes && frame) receive(room, member, frame, bytes)
      else misuse(member, CLOSE_CODES.badFrame, 'malformed frame')
    })
    socket.on('close', () => {
      member.release()
      if (room.remove(member) && rooms.get(key) === room) rooms.delete(key)
    })
    attempt(
      member,
      liveSession(member).then(() => {}),
    )
  }

  /** The session of a member, `null` if there is none yet. One that it may not follow sends it away: `undefined`. */
  async function liveSession(member: Member): Promise<SessionRecord | null | undefined> {
    const { account, sessionId, incarnation } = member.peer
    const { session, ended } = await store.decide({ account, sessionId, device: member.device }, (state) => ({
      result: { session: state.session, ended: state.ended },
    }))
    // A stock peer knows no incarnations: to it, an id that was deleted is gone.
    if (incarnation === undefined ? !session && ended.size > 0 : ended.has(incarnation)) {
      member.close(CLOSE_CODES.deleted, 'the session was deleted')
      return undefined
    }
    if (session && incarnation !== undefined && session.incarnation !== incarnation) {
      member.close(CLOSE_CODES.otherIncarnation, 'another session lives under this id')
      return undefined
    }
    return session
  }

  function receive(room: Room, member: Member, frame: RoomFrame, bytes: Uint8Array): void {
    switch (frame.kind) {
      case 'step-1':
        attempt(member, answerStep1(room, member, frame.stateVector))
        break
      case 'update':
        // Peers without a document answer with an empty update; it makes no session.
        if (!isEmpty(frame.bytes)) storeUpdate(member, frame.bytes, frame.answer)
        else if (frame.answer)
          attempt(
            member,
            member.stored.then(() => repaired(member)),
          )
        break
      case 'awareness':
        room.passRaw(member, bytes)
        break
      case 'query-awareness':
        break
      case 'signal':
        receiveSignal(room, member, frame.signal)
        break
    }
  }

  function receiveSignal(room: Room, member: Member, signal: Signal): void {
    if (signal.kind === 'mark') {
      const { n } = signal
      member.speaksSignals = true
      attempt(
        member,
        member.stored.then(() => {
          if (member.gapped) holdMark(room, member, n)
          else member.signal({ kind: 'marked', n })
        }),
      )
    } else if (signal.kind === 'hello' && isSafeId(signal.device)) {
      member.speaksSignals = true
      member.device = signal.device
      attempt(member, welcome(room, member, signal.version, signal.since))
    } else misuse(member, CLOSE_CODES.badFrame, 'unexpected signal')
  }

  async function answerStep1(room: Room, member: Member, stateVector: Uint8Array): Promise<void> {
    const { update, stateVector: ours } = await room.merged.read()
    const missing = Y.diffUpdate(update, stateVector)
    const whole = missing.length <= MAX_FRAME_BYTES - FRAME_HEAD_BYTES
    // More than a frame holds goes as the log has it, in frames of the size that they came in. Whoever said hello has it.
    if (!whole && !member.speaksSignals) await sendLog(member, 0)
    member.send(encodeStep2(whole ? missing : EMPTY_UPDATE))
    member.send(encodeStep1(ours))
  }

  /** The log after a position, no faster than the socket takes it. Returns where it ends; `undefined`: there is none. */
  async function sendLog(member: Member, since: number): Promise<number | undefined> {
    const { account, sessionId } = member.peer
    let head: number | undefined
    for (let after = since, more = true; more; ) {
      const page = await store.updates({ account, sessionId }, after, UPDATES_PAGE_BYTES)
      const last = page?.entries.at(-1)?.seq ?? after
      for (const { seq, bytes } of page?.entries ?? []) {
        if (seq < last) member.send(encodeUpdate(bytes))
        else await member.sendAndFlush(encodeUpdate(bytes))
      }
      after = last
      head = page?.head ?? head
      more = page?.more ?? false
    }
    return head
  }

  /** Who we are, the log after `since`, and then where the session stands. */
  async function welcome(room: Room, member: Member, version: number, since: number): Promise<void> {
    const { account, incarnation } = member.peer
    member.catchingUp = true
    const session = await liveSession(member)
    if (session === undefined) return
    member.signal({
      kind: 'welcome',
      version: PROTOCOL_VERSION,
      server: server.name,
      account,
      epoch: store.epoch,
      incarnation: session?.incarnation ?? incarnation ?? '',
      head: session?.head ?? 0,
      time: now(),
    })
    if (version !== PROTOCOL_VERSION) {
      misuse(member, CLOSE_CODES.badFrame, 'another protocol version')
      return
    }
    const head = (await sendLog(member, since)) ?? session?.head ?? 0
    member.catchingUp = false
    member.signal({ kind: 'changed', ...room.standing({ head, etag: etagOf(session, store.epoch) }) })
  }

  function storeUpdate(member: Member, bytes: Uint8Array, answer: boolean): void {
    const { account, sub, sessionId, incarnation } = member.peer
    const caller = { account, sub, device: member.device }
    const stored = log
      .append(caller, sessionId, { incarnation, updates: [bytes], from: member })
      .then((outcome) => acknowledge(member, outcome, answer))
    attempt(member, stored)
    // A mark speaks for all before it: where one was not stored, the socket is on its way out before the mark is answered.
    member.stored = Promise.all([member.stored, stored.catch(() => sendAway(member))]).then(() => {})
  }

  function acknowledge(member: Member, { reply, stateVector }: AppendOutcome, answer: boolean): void {
    if (stateVector) {
      // The answer to this brings everything that is missing, and what was not stored now.
      member.gapped = true
      member.send(encodeStep1(stateVector))
    } else if (isRefusal(reply.body)) {
      misuse(member, CLOSE_CODE_OF[reply.body.code] ?? CLOSE_CODES.unavailable, reply.body.code)
    } else if (answer) repaired(member)
  }

  /** A device has a mark or two under way: whoever asks on and on without the repair is sent away. */
  function holdMark(room: Room, member: Member, n: number): void {
    if (member.heldMarks.length >= MAX_HELD_MARKS) {
      misuse(member, CLOSE_CODES.badFrame, 'too many marks')
      return
    }
    const inRoom = [...room.members].reduce((sum, each) => sum + each.heldMarks.length, 0)
    if (inRoom >= MAX_HELD_MARKS_IN_ROOM) member.close(CLOSE_CODES.unavailable, 'too many marks in this room')
    else member.heldMarks.push(n)
  }

  function repaired(member: Member): void {
    if (!member.gapped) return
    member.gapped = false
    for (const n of member.heldMarks.splice(0)) member.signal({ kind: 'marked', n })
  }

  function misuse(member: Member, code: number, reason: string): void {
    onMisuse?.(member.peer, reason)
    member.close(code, reason)
  }

  /**
   * Nothing that one socket asked for may end the process: it is sent away, and may try again. Whatever it asks for counts
   * against what it may have under way.
   */
  function attempt(member: Member, work: Promise<void>): void {
    member.hold(work).catch(() => sendAway(member))
  }

  function sendAway(member: Member): void {
    member.close(CLOSE_CODES.unavailable, 'try again')
  }

  return {
    join,
    socketCount: () => [...rooms.values()].reduce((sum, room) => sum + room.members.size, 0),
    close: () => {
      stop()
      clearInterval(heartbeat)
      const members = [...rooms.values()].flatMap((room) => [...room.members])
      for (const member of members) member.close(SERVICE_RESTART, 'the server restarts')
      // Whoever does not answer the close is not waited for.
      setTimeout(() => {
        for (const member of members) member.cutOff()
      }, CUT_OFF_MS).unref()
    },
  }
}

function toBytes(data: RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data)
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data
}

function isEmpty(update: Uint8Array): boolean {
  return update.length === 2 && update[0] === 0 && update[1] === 0
}
