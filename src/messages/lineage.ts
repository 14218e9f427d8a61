import type { Message } from '../contract/chat-message.ts'
import { messageKeys } from '../core/message-changes.ts'
import type { StoredMessage } from '../core/stored-message.ts'
import { RejoinError } from '../errors.ts'
import { requireMessages } from './encode-message.ts'
import type { Slot } from './message-mirror.ts'
import { deleted } from './session-deleted.ts'

/** One life of a session in this tab; a deleted session that begins anew has another. */
export interface Life {
  readonly sessionId: string
  ended: boolean
}

/** What one caller of a memory knows: the list that it was handed or that it saved last. */
export interface Lineage {
  readonly life: Life
  /** Its own array: it is changed in place, since copying a long list for each token would cost more than the token. */
  base: Message[]
}

/** Where a message object that passed through a session comes from, and what it said then. */
export interface Origin {
  readonly life: Life
  /** Absent: an object of `get()`, which everybody may hold. */
  readonly lineage: Lineage | undefined
  slot: Slot
  /** Under the id of the object, which may be another one than in the document. */
  readonly stored: StoredMessage
}

/** What a session knows of message objects. */
export type Origins = WeakMap<Message, Origin>

/** In which life of which session an object was met first: shared by all sessions of a tab. */
export type Homes = WeakMap<Message, Life>

/** Somebody who says by itself what it knows, so that nothing has to be guessed from its list. */
export interface Caller {
  /** The list that it was handed or that it saved last. Kept by the memory at each save. */
  knows: readonly Message[]
}

export interface Lineages {
  /** Begins a lineage with a list that is handed out. */
  readonly begin: (base: readonly Message[]) => Lineage
  /** Whose list this is. Throws `deleted` or `refused` for a list of another life or conversation. */
  readonly find: (list: readonly Message[]) => Lineage
  /** The lineage of a caller that saves this list. Throws as `find` does. */
  readonly of: (caller: Caller, list: readonly Message[]) => Lineage
  /** The caller's list was saved. */
  readonly saved: (caller: Caller, list: readonly Message[]) => void
}

const MAX_REMEMBERED = 4

/**
 * Who saves? A memory hears no name, but message objects have an identity, and a controller keeps the objects that it
 * was handed and that it saved. So, in this order:
 *
 * 1. an object that a lineage was handed or saved first: that lineage, the one of the last such object in the list;
 * 2. objects of `get()`, which a host feeds into its controller: the lineage of fed lists;
 * 3. no known object, but ids that a known list has (a wrapper hands on copies): the last such save, else the fed or
 *    handed-out list that would lose least;
 * 4. nothing known: a caller that knows nothing, and can therefore remove nothing.
 */
export function createLineages(life: () => Life, origins: Origins, homes: Homes): Lineages {
  let fed: Lineage | undefined
  let anonymous: Lineage | undefined
  let handedOut: readonly Lineage[] = []
  const callers = new WeakMap<Caller, { readonly lineage: Lineage; knew: readonly Message[] | undefined }>()

  const alive = (lineage: Lineage | undefined) => (lineage?.life === life() ? lineage : undefined)

  function requireOwn(list: readonly Message[]): void {
    for (const message of list) {
      const home = origins.get(message)?.life === life() ? undefined : homes.get(message)
      if (home) throw foreignError(home)
    }
  }

  function foreignError(home: Life): RejoinError {
    return home.sessionId === life().sessionId ? deleted(home.sessionId) : misplaced(home, life())
  }

  return {
    begin(base) {
      const lineage = { life: life(), base: [...base] }
      handedOut = [lineage, ...handedOut].slice(0, MAX_REMEMBERED)
      return lineage
    },
    find(list) {
      let foreign: Life | undefined
      let seen = false
      for (let at = list.length - 1; at >= 0; at--) {
        const message = list[at] as Message
        const origin = origins.get(message)
        if (origin?.life !== life()) foreign ??= homes.get(message)
        else if (origin.lineage) return origin.lineage
        else seen = true
      }
      if (seen) {
        // A chat whose own objects have all changed still shows the fed ones that its last save named.
        const shown = new Set(list)
        const identical = ({ base }: Lineage) => base.filter((message) => shown.has(message)).length
        const [savedLast] = [anonymous, ...handedOut, fed]
          .filter((lineage): lineage is Lineage => lineage?.life === life() && identical(lineage) > 0)
          .sort((a, b) => identical(b) - identical(a))
        if (savedLast) return savedLast
        fed = alive(fed) ?? { life: life(), base: [] }
        return fed
      }
      if (foreign) throw foreignError(foreign)
      requireMessages(list)
      const keys = new Set(messageKeys(list))
      const known = alive(anonymous)
      if (known && shares(known, keys)) return known
      // A controller that changes the only message of a fed list shows no object of it any more.
      const [closest] = [fed, ...handedOut]
        .filter((lineage): lineage is Lineage => lineage?.life === life() && shares(lineage, keys))
        .sort((a, b) => losses(a, keys) - losses(b, keys))
      anonymous = { life: life(), base: [...(closest?.base ?? [])] }
      return anonymous
    },
    of(caller, list) {
      const known = callers.get(caller)
      if (known && alive(known.lineage)) {
        if (known.knew !== caller.knows) known.lineage.base = [...caller.knows]
        known.knew = caller.knows
        return known.lineage
      }
      requireOwn(list)
      const lineage = { life: life(), base: [...caller.knows] }
      callers.set(caller, { lineage, knew: caller.knows })
      return lineage
    },
    saved(caller, list) {
      const known = callers.get(caller)
      if (known) known.knew = list
      caller.knows = list
    },
  }
}

function shares({ base }: Lineage, keys: ReadonlySet<string>): boolean {
  return messageKeys(base).some((key) => keys.has(key))
}

function losses({ base }: Lineage, keys: ReadonlySet<string>): number {
  return messageKeys(base).filter((key) => !keys.has(key)).length
}

function misplaced(from: Life, to: Life): RejoinError {
  const what = `The messages of session ${from.sessionId} were saved into session ${to.sessionId}.`
  return new RejoinError('refused', what, {
    hint: 'Nothing was written. Give each session a chat of its own; to fork a conversation, save copies of its messages.',
  })
}
