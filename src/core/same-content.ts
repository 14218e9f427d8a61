import type { Conversation, Snapshot } from '../contract/session-snapshot.ts'

/** Equal apart from `cursor` and `updatedAt`, rule R1: two snapshots that say the same. */
export function sameContent(a: Snapshot, b: Snapshot): boolean {
  return (
    a.sessionId === b.sessionId &&
    a.definitionId === b.definitionId &&
    a.definitionRevision === b.definitionRevision &&
    deepEqual(a.activeTurn, b.activeTurn) &&
    deepEqual(a.terminalTurns ?? [], b.terminalTurns ?? []) &&
    sameConversation(a.conversation, b.conversation) &&
    deepEqual(a.confirmations, b.confirmations)
  )
}

/** The same, also where the confirmations come in another order: nobody sees a difference between the two. */
export function sameButForOrder(a: Snapshot, b: Snapshot): boolean {
  return sameContent(inOrder(a), inOrder(b))
}

function inOrder(snapshot: Snapshot): Snapshot {
  const confirmations = [...snapshot.confirmations].sort((a, b) => (a.token < b.token ? -1 : 1))
  return { ...snapshot, confirmations }
}

export function sameConversation(a: Conversation | undefined, b: Conversation | undefined): boolean {
  return deepEqual(a, b)
}

/** Structural equality of JSON values; the order of keys does not matter, and `undefined` equals absence. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
    return a.every((item, index) => deepEqual(item, b[index]))
  }
  const left = definedEntries(a)
  const right = new Map(definedEntries(b))
  return left.length === right.size && left.every(([key, value]) => right.has(key) && deepEqual(value, right.get(key)))
}

function definedEntries(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, member]) => member !== undefined)
}
