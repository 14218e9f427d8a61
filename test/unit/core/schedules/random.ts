/** A seeded generator (mulberry32): the same seed gives the same schedule. */
export interface Random {
  /** 0 inclusive to 1 exclusive. */
  readonly next: () => number
  /** True with this probability. */
  readonly chance: (probability: number) => boolean
  readonly pick: <T>(items: readonly T[]) => T | undefined
}

export function createRandom(seed: number): Random {
  let state = seed | 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  return {
    next,
    chance: (probability) => next() < probability,
    pick: (items) => items[Math.floor(next() * items.length)],
  }
}
