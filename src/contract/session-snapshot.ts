import * as z from 'zod/mini'
import { CONFIRMATION_INPUT_BOUNDS, isBoundedJsonObject, type JsonObject } from './bounded-json.ts'
import { SafeId } from './safe-id.ts'

export const SESSION_PROTOCOL = 'agentskit.chat.session'
export const SESSION_PROTOCOL_VERSION = 1

export const MAX_CONFIRMATIONS = 1000
export const MAX_DECISIONS = 1000
export const MAX_TERMINAL_TURNS = 64

const SafeInteger = z.number().check(z.refine(Number.isSafeInteger))
const NonNegative = SafeInteger.check(z.gte(0))
export const StateName = z.string().check(z.minLength(1), z.maxLength(128))

export const ConfirmationStatus = z.enum([
  'pending',
  'approving',
  'rejecting',
  'expiring',
  'approved',
  'rejected',
  'expired',
])

function boundedArray<T extends z.ZodMiniType>(element: T, max: number) {
  return z.pipe(
    z.transform((value: unknown) => copyUpTo(value, max)),
    z.array(element),
  )
}

/** Looked at once: a validator that walks four billion holes, or as many as a proxy claims, would hang. */
function copyUpTo(value: unknown, max: number): unknown[] | undefined {
  if (!Array.isArray(value)) return undefined
  const { length } = value
  return length <= max ? Array.from({ length }, (_, index) => value[index]) : undefined
}

const BoundedInput = z.pipe(
  z.custom<JsonObject>((value) => isBoundedJsonObject(value, CONFIRMATION_INPUT_BOUNDS)),
  z.transform((value) => structuredClone(value)),
)

export const ConfirmationSchema = z.object({
  token: SafeId,
  action: SafeId,
  input: BoundedInput,
  toolCallId: SafeId,
  expiresAt: NonNegative,
  status: ConfirmationStatus,
})

export const DecisionSchema = z.object({
  messageId: SafeId,
  input: z.string().check(z.maxLength(16_384)),
  routeId: SafeId,
  kind: z.enum(['deterministic', 'repaired', 'fallback']),
  content: z.string().check(z.maxLength(65_536)),
  fromState: StateName,
  toState: StateName,
})

const ConversationSchema = z.object({
  state: StateName,
  decisions: boundedArray(DecisionSchema, MAX_DECISIONS).check(
    z.refine((decisions) => unique(decisions, (each) => each.messageId)),
  ),
})

/** The session envelope, version 1. Unknown keys are stripped at every level; lengths are UTF-16 code units. */
export const SnapshotSchema = z.object({
  protocol: z.literal(SESSION_PROTOCOL),
  version: z.literal(SESSION_PROTOCOL_VERSION),
  sessionId: SafeId,
  definitionId: SafeId,
  definitionRevision: SafeInteger.check(z.gt(0)),
  updatedAt: z.iso.datetime({ offset: true }),
  cursor: NonNegative,
  activeTurn: z.optional(z.object({ turnId: SafeId, expiresAt: NonNegative })),
  terminalTurns: z.optional(
    boundedArray(
      z.object({ turnId: SafeId, outcome: z.enum(['completed', 'indeterminate']) }),
      MAX_TERMINAL_TURNS,
    ).check(z.refine((turns) => unique(turns, (each) => each.turnId))),
  ),
  conversation: z.optional(ConversationSchema),
  confirmations: boundedArray(ConfirmationSchema, MAX_CONFIRMATIONS).check(
    z.refine((all) => unique(all, (each) => each.token) && unique(all, (each) => each.toolCallId)),
  ),
})

export type ConfirmationStatus = z.infer<typeof ConfirmationStatus>
export type Confirmation = Readonly<z.infer<typeof ConfirmationSchema>>
export type Decision = Readonly<z.infer<typeof DecisionSchema>>
export type TerminalTurn = { readonly turnId: string; readonly outcome: 'completed' | 'indeterminate' }
export type ActiveTurn = { readonly turnId: string; readonly expiresAt: number }
export type Conversation = { readonly state: string; readonly decisions: readonly Decision[] }

/** What is stored of a session beside its messages. `cursor` rises by one with each save. */
export interface Snapshot {
  readonly protocol: typeof SESSION_PROTOCOL
  readonly version: typeof SESSION_PROTOCOL_VERSION
  readonly sessionId: string
  readonly definitionId: string
  readonly definitionRevision: number
  /** ISO 8601 with a zone. */
  readonly updatedAt: string
  readonly cursor: number
  readonly activeTurn?: ActiveTurn | undefined
  readonly terminalTurns?: readonly TerminalTurn[] | undefined
  readonly conversation?: Conversation | undefined
  readonly confirmations: readonly Confirmation[]
}

function unique<T>(items: readonly T[], key: (item: T) => string): boolean {
  return new Set(items.map(key)).size === items.length
}
