import type { Epoch, ETag, Incarnation } from './identity.ts'

export interface ETagParts {
  readonly epoch: Epoch
  readonly incarnation: Incarnation
  readonly cursor: number
  /** Of the last write; a claim, settlement, release or expiry writes `${claimId|server}.${attempt}.${status}`. */
  readonly writeId: string
}

/** Only the server makes ETags; clients hand them back as they are. */
export function formatETag({ epoch, incarnation, cursor, writeId }: ETagParts): ETag {
  return `"${epoch}.${incarnation}.${cursor}.${writeId}"`
}
