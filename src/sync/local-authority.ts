import type { ClaimAuthority } from '../storage/claim-authority.ts'

/** Without a server: tokens that never left are this device's to decide, and all others stay queued. */
export const localAuthority: ClaimAuthority = {
  via: () => 'device',
  claim: async () => 'unreachable',
  release: async () => 'unreachable',
  clearDoubt: async () => 'unreachable',
  takeTurn: async () => 'unreachable',
  firstLoad: async () => {},
  received: () => {},
}
