import * as z from 'zod/mini'
import { type Epoch, EpochSchema } from './identity.ts'

export const PROTOCOL_VERSION = 1
/** Every request names its device. */
export const DEVICE_HEADER = 'rejoin-device'

const NonNegativeInteger = z.number().check(z.refine(Number.isSafeInteger), z.gte(0))
export const Position = NonNegativeInteger
/** Epoch ms by the server's clock. */
export const ServerTime = NonNegativeInteger

export const commonFields = {
  server: z.string().check(z.minLength(1), z.maxLength(128)),
  account: z.string().check(z.minLength(1), z.maxLength(256)),
  epoch: EpochSchema,
  time: ServerTime,
}

/** Part of every answer: who says it, for which account, in which epoch, and when by the server's clock. */
export interface Common {
  readonly server: string
  readonly account: string
  readonly epoch: Epoch
  readonly time: number
}
