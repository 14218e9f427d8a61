import { CLOSE_CODES } from '../../src/protocol/close-codes.ts'
import type { ETag } from '../../src/protocol/identity.ts'
import type { MergedLog } from './merged-log.ts'
import { encodeUpdate } from './room-frames.ts'
import type { Member } from './room-member.ts'
import type { SessionMoved } from './session-changes.ts'

/** Where a session stood when it was last heard of. */
export interface Standing {
  readonly head: number
  readonly etag: ETag | null
}

/** The open sockets of one session. */
export interface Room {
  readonly members: ReadonlySet<Member>
  readonly merged: MergedLog
  readonly add: (member: Member) => void
  /** Returns true when nobody is left. */
  readonly remove: (member: Member) => boolean
  /** Passes on what was committed: updates at once, `changed` a moment later, so that a burst is told once. */
  readonly pass: (moved: SessionMoved) => void
  /** Passes a frame that is not stored to everybody else. */
  readonly passRaw: (from: Member, frame: Uint8Array) => void
  /** The latest standing: `read` from the store, or what came in since. */
  readonly standing: (read: Standing) => Standing
}

const CHANGED_DELAY_MS = 20

export function createRoom(merged: MergedLog): Room {
  const members = new Set<Member>()
  let latest: Standing | undefined
  let changed: NodeJS.Timeout | undefined

  function pass(moved: SessionMoved): void {
    if (moved.deleted) {
      for (const member of members) member.close(CLOSE_CODES.deleted, 'the session was deleted')
      return
    }
    const frames = moved.updates.map(encodeUpdate)
    for (const member of members) {
      const { incarnation } = member.peer
      if (incarnation !== undefined && incarnation !== moved.incarnation) {
        member.close(CLOSE_CODES.otherIncarnation, 'another session lives under this id')
      } else if (member !== moved.from) for (const frame of frames) member.send(frame)
    }
    latest = { head: moved.head, etag: moved.etag }
    changed ??= setTimeout(tellChanged, CHANGED_DELAY_MS)
  }

  function tellChanged(): void {
    changed = undefined
    if (!latest) return
    for (const member of members) {
      if (member.speaksSignals && !member.catchingUp) member.signal({ kind: 'changed', ...latest })
    }
  }

  return {
    members,
    merged,
    add: (member) => members.add(member),
    remove: (member) => {
      members.delete(member)
      if (members.size === 0) clearTimeout(changed)
      return members.size === 0
    },
    pass,
    passRaw: (from, frame) => {
      for (const member of members) if (member !== from) member.send(frame)
    },
    standing: (read) => {
      latest ??= read
      return { head: Math.max(latest.head, read.head), etag: latest.etag }
    },
  }
}
