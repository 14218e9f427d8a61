import { useSyncExternalStore } from 'react'

/** The confirmations of a session, in its order; each change is a new array. */
export function useConfirmations<T>(session: {
  readonly getConfirmations: () => T
  readonly subscribe: (listener: () => void) => () => void
}): T {
  return useSyncExternalStore(session.subscribe, session.getConfirmations, session.getConfirmations)
}
