/** Which rows of a session this tab has: all up to `through`, and some beyond. */
export interface SeenSeqs {
  readonly through: () => number
  /** True if a row beyond `through` was seen: what is between was missed, or is still on its way. */
  readonly gap: () => boolean
  readonly add: (first: number, count: number) => void
  /** Everything up to here was read: a compacted row stands for those that it replaced. */
  readonly advance: (seq: number) => void
}

export function createSeenSeqs(): SeenSeqs {
  let through = 0
  const beyond = new Set<number>()

  function advance(seq: number): void {
    through = Math.max(through, seq)
    for (const each of beyond) if (each <= through) beyond.delete(each)
    while (beyond.delete(through + 1)) through++
  }

  return {
    through: () => through,
    gap: () => beyond.size > 0,
    add(first, count) {
      if (first <= through + 1) return advance(first + count - 1)
      for (let seq = first; seq < first + count; seq++) beyond.add(seq)
    },
    advance,
  }
}
