import { type Decision, MAX_DECISIONS } from '../contract/session-snapshot.ts'
import { RejoinError } from '../errors.ts'

/** Above this many, old decisions make room; the envelope's own bound is 1000. */
export const DECISIONS_KEPT = 900

/**
 * Makes room above 900 decisions: removes one contiguous segment that starts and ends in the same state, so that the
 * rest still leads from the initial state to the present one. The oldest segment that is long enough goes, the shortest
 * of those that end together; if none is long enough, the longest. The last decision always stays, because its message
 * may be dispatched again. Device and server prune by this one function, so they agree. Returns the same array when
 * nothing goes.
 *
 * @throws RejoinError `too-large` when more than 1000 would be left.
 */
export function pruneDecisions(decisions: readonly Decision[]): readonly Decision[] {
  const excess = decisions.length - DECISIONS_KEPT
  if (excess <= 0) return decisions
  const segment = oldestSegment(decisions, excess) ?? longestSegment(decisions)
  const kept = segment ? decisions.toSpliced(segment.from, segment.to - segment.from) : decisions
  if (kept.length <= MAX_DECISIONS) return kept
  throw new RejoinError('too-large', `The session holds ${kept.length} route decisions that build on each other.`, {
    hint: 'Start a new session, or give the conversation a transition that comes back to an earlier state.',
  })
}

/** Decisions `from` (inclusive) to `to` (exclusive). */
interface Segment {
  readonly from: number
  readonly to: number
}

function oldestSegment(decisions: readonly Decision[], excess: number): Segment | undefined {
  const lastStart = new Map<string, number>()
  for (let to = excess; to < decisions.length; to++) {
    const from = to - excess
    lastStart.set(stateBefore(decisions, from), from)
    const start = lastStart.get(stateBefore(decisions, to))
    if (start !== undefined) return { from: start, to }
  }
  return undefined
}

function longestSegment(decisions: readonly Decision[]): Segment | undefined {
  const firstStart = new Map<string, number>()
  let longest: Segment | undefined
  for (let to = 0; to < decisions.length; to++) {
    const state = stateBefore(decisions, to)
    const from = firstStart.get(state)
    if (from === undefined) firstStart.set(state, to)
    else if (!longest || to - from > longest.to - longest.from) longest = { from, to }
  }
  return longest
}

/** Decisions chain, so the state before one is its own `fromState`. */
function stateBefore(decisions: readonly Decision[], index: number): string {
  return decisions[index]?.fromState ?? ''
}
