import type { RuleContext } from './rules/session-state.ts'
import type { Store } from './store.ts'

/** Who asks: account and person from the access token, the device from its own registration. */
export interface Caller {
  readonly account: string
  readonly sub: string
  readonly device: string
  readonly label?: string | undefined
}

/** What the server says of itself in every answer, and its clock. */
export interface ServerIdentity {
  readonly name: string
  readonly store: Store
  readonly now: () => number
}

export function contextOf({ name, store, now }: ServerIdentity, caller: Caller, sessionId: string): RuleContext {
  const { account, sub, device, label } = caller
  return { server: name, epoch: store.epoch, now: now(), account, sub, device, label, sessionId }
}
