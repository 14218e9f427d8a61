import type { Epoch } from '../protocol/identity.ts'

/** Token → the epoch in which it left this device. It only grows, rule K1. */
export type LeftTokens = Readonly<Record<string, Epoch>>

export function addLeft(left: LeftTokens, gone: readonly { readonly token: string }[], epoch: Epoch): LeftTokens {
  const fresh = gone.filter(({ token }) => !hasLeft(left, token))
  return fresh.length === 0 ? left : { ...left, ...Object.fromEntries(fresh.map(({ token }) => [token, epoch])) }
}

export function hasLeft(left: LeftTokens, token: string): boolean {
  return leftIn(left, token) !== undefined
}

/** The epoch in which a token left. Own keys only: `constructor` is a fine token. */
export function leftIn(left: LeftTokens, token: string): Epoch | undefined {
  return Object.hasOwn(left, token) ? left[token] : undefined
}
