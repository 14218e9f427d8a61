/**
 * When the controller saves. `every-change`: core up to 1.12.8, at every state change, errors swallowed.
 * `finalized`: core 1.13 and later, when a turn is complete, awaited, errors shown.
 */
export type PersistenceRegime = 'every-change' | 'finalized'

let regime: PersistenceRegime = 'every-change'

/** The regime of controllers whose configuration names none. */
export function persistenceRegime(): PersistenceRegime {
  return regime
}

export function setPersistenceRegime(next: PersistenceRegime): void {
  regime = next
}
