import * as z from 'zod/mini'
import type { DatabaseEvent } from './database.ts'

type WithoutRemote<Event> = Event extends DatabaseEvent ? Omit<Event, 'remote'> : never

/** A commit, as its tab tells the other tabs of it. */
export type TabMessage = WithoutRemote<DatabaseEvent>

const Id = z.string().check(z.minLength(1))

const TabMessageSchema: z.ZodMiniType<TabMessage> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('session'), sessionId: Id }),
  z.object({
    kind: z.literal('updates'),
    sessionId: Id,
    incarnation: Id,
    origin: z.enum(['local', 'server']),
    firstSeq: z.int().check(z.positive()),
    bytes: z.array(z.instanceof(Uint8Array)),
  }),
  z.object({ kind: z.literal('meta') }),
])

/** Any script of this origin can post to our channel, and so can other versions of us: what we do not know is nothing. */
export function readTabMessage(message: unknown): TabMessage | undefined {
  return TabMessageSchema.safeParse(message).data
}
