import * as z from 'zod/mini'
import { SafeId } from '../contract/safe-id.ts'

/** `${ms at which it began}-${random}`; made by the store. An answer of an epoch that began earlier is ignored. */
export type Epoch = string
/** Random, made by the device with the session's row; the server keeps the first that it hears of. */
export type Incarnation = string
/** Opaque to clients: names the server's epoch, the incarnation, the cursor and the last write. */
export type ETag = string

export const EpochSchema = z.string().check(z.regex(/^\d{1,16}-[A-Za-z0-9_-]{1,64}$/))
export const IncarnationSchema = SafeId
export const ETagSchema = z.string().check(z.minLength(2), z.maxLength(700))
export const DeviceId = SafeId
export const Token = SafeId
export const ClaimId = SafeId

/** When the epoch began, in ms; `0` for something that is not an epoch. */
export function epochStart(epoch: Epoch): number {
  const start = Number.parseInt(epoch, 10)
  return Number.isSafeInteger(start) ? start : 0
}

/** True if answers of `epoch` are older news than those of `known`. */
export function isEarlierEpoch(epoch: Epoch, known: Epoch): boolean {
  return epoch !== known && epochStart(epoch) < epochStart(known)
}
