import { CONFIRMATION_INPUT_BOUNDS, isBoundedJsonObject, type JsonObject } from '../contract/bounded-json.ts'
import type { ToolCall } from '../contract/chat-message.ts'
import { isSafeId } from '../contract/safe-id.ts'
import type { Confirmation } from '../contract/session-snapshot.ts'
import {
  type ActionConfirmation,
  isSettled,
  outcomeOf,
  toActionConfirmation,
  type Want,
} from './action-confirmation.ts'
import { ConfigError } from './config-error.ts'
import type { ConfirmationRecords } from './confirmation-records.ts'
import { newId } from './new-id.ts'
import { createPermissions, type Permissions } from './permissions.ts'
import { type ChatToConfirm, nothingToRun, runDecision, waits } from './run-decision.ts'

export interface ActionToPropose {
  /** The tool's name. */
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}

/** Proposes actions and carries out what a person decides on them (ADR-0011). */
export interface ActionConfirmationCoordinator {
  /**
   * Puts a tool call before a person. Resolves when call and record are stored; a rejection leaves nothing behind that
   * could run later.
   *
   * @throws ConfigError for an id or an input that could not be stored; the chat's own errors pass unchanged.
   */
  readonly propose: (action: ActionToPropose) => Promise<ActionConfirmation>
  /**
   * Puts a call before a person that the chat's model made and that waits in the chat. Resolves with its record when
   * call and record are stored, or with the one that it has. Only for a call that was made here: two places that adopt
   * one call would each be asked for it.
   *
   * @throws ConfigError for an id or an input that could not be stored; the call is denied then.
   */
  readonly adopt: (call: ToolCall) => Promise<ActionConfirmation>
  /**
   * Runs the action if nobody decided on it yet, and resolves with the record as it then stands. After `expiresAt` it
   * expires instead. Whatever is decided already comes back unchanged; a decision under way is joined.
   *
   * @throws ConfigError for an unknown token or another session; SessionConflictError, with the record, when somebody
   * else decided first; RejoinError `claim-queued` when it is stored here and waits for the server, `nothing-to-run`
   * when the chat had no such call waiting. The chat's own errors pass unchanged.
   */
  readonly approve: (token: string, sessionId: string) => Promise<ActionConfirmation>
  /**
   * Denies the action, also when its call is gone from the chat. Otherwise like `approve`, except that it does not look
   * at `expiresAt`.
   */
  readonly reject: (token: string, sessionId: string, reason?: string) => Promise<ActionConfirmation>
  readonly getByToolCall: (toolCallId: string) => ActionConfirmation | undefined
  readonly getSnapshot: () => readonly ActionConfirmation[]
}

export interface CoordinatorOptions {
  readonly chat: ChatToConfirm
  /** How long a proposal may be approved. Default 300 000. */
  readonly ttlMs?: number
  /** Epoch ms. */
  readonly now?: () => number
  /** At most 120 characters of a SafeId; no two devices may make the same. */
  readonly createId?: () => string
}

export interface CoordinatorPorts extends CoordinatorOptions {
  readonly sessionId: string
  readonly records: ConfirmationRecords
  readonly permissions?: Permissions
  /** Stores the chat's present messages, where somebody other than the chat has to. */
  readonly storeMessages?: (() => Promise<void>) | undefined
}

const MAX_ID_LENGTH = 120
const DEFAULT_TTL_MS = 300_000

export function createCoordinator(ports: CoordinatorPorts): ActionConfirmationCoordinator {
  const {
    sessionId,
    chat,
    records,
    permissions = createPermissions(),
    storeMessages,
    ttlMs = DEFAULT_TTL_MS,
    now = Date.now,
    createId = newId,
  } = ports
  if (sessionId === '') throw new ConfigError('A confirmation needs the id of its session.')
  if (!Number.isSafeInteger(ttlMs) || ttlMs <= 0) {
    throw new ConfigError(`ttlMs is ${ttlMs}, not a positive integer.`, { hint: 'Give the time in milliseconds.' })
  }

  function find(token: string): ActionConfirmation | undefined {
    return records.get().find((record) => record.token === token)
  }

  function getByToolCall(toolCallId: string): ActionConfirmation | undefined {
    return records.get().find((record) => record.toolCallId === toolCallId)
  }

  function requireRecord(token: string, forSession: string): ActionConfirmation {
    const record = find(token)
    if (record && forSession === sessionId) return record
    throw new ConfigError('The confirmation token is invalid for this session.', {
      hint: 'Use the token in the session that proposed it.',
    })
  }

  /** One operation at a time for each token: a second decision joins the first, whatever it asked for. */
  async function decide(
    token: string,
    forSession: string,
    start: (record: ActionConfirmation) => Promise<ActionConfirmation>,
  ) {
    requireRecord(token, forSession)
    await records.proposals.get(token)
    const underWay = records.operations.get(token)
    if (underWay !== undefined) return underWay
    return track(records.operations, token, () => start(requireRecord(token, forSession)))
  }

  async function carryOut(record: ActionConfirmation, want: Want, reason?: string): Promise<ActionConfirmation> {
    if (record.status !== 'pending') return record
    if (want === 'approving' && waits(chat, record.toolCallId) === false) throw nothingToRun()
    const claimed = await records.claim(record, want)
    let ran: Awaited<ReturnType<typeof runDecision>>
    try {
      ran = await runDecision(chat, { toolCallId: record.toolCallId, want, reason }, permissions)
    } catch (error) {
      await giveBack(claimed, 'failed')
      throw error
    }
    if (ran === 'ran') return records.settle(claimed, outcomeOf(want))
    await giveBack(claimed, 'nothing-to-run')
    throw nothingToRun()
  }

  function freeId(): string {
    const id = createId()
    if (!isSafeId(id) || id.length > MAX_ID_LENGTH) {
      throw new ConfigError('The confirmation id is invalid.', {
        hint: `createId has to return 1 to ${MAX_ID_LENGTH} letters, digits or . _ : -`,
      })
    }
    if (find(tokenFor(id)) || records.proposals.has(tokenFor(id))) {
      throw new ConfigError('The confirmation id is invalid: it is in use.', { hint: 'Make ids unique.' })
    }
    return id
  }

  async function propose({ name, input }: ActionToPropose): Promise<ActionConfirmation> {
    const id = freeId()
    const token = tokenFor(id)
    const toolCallId = `app-${id}`
    const proposal = { token, toolCallId, action: name, input: storable(input) }
    return track(records.proposals, token, () =>
      proposeAs(proposal, () => chat.proposeToolCall({ id: toolCallId, name, args: structuredClone(proposal.input) })),
    )
  }

  async function proposeAs(
    proposal: Pick<ActionConfirmation, 'token' | 'toolCallId' | 'action' | 'input'>,
    waitingCall: () => Promise<ToolCall>,
  ): Promise<ActionConfirmation> {
    // The chat shows the call before it answers: whoever looks the call up finds its record.
    const hide = records.show(recordOf({ ...proposal, status: 'pending' }))
    try {
      return await keep(proposal.token, await waitingCall())
    } finally {
      hide()
    }
  }

  async function adopt(call: ToolCall): Promise<ActionConfirmation> {
    return records.adoptions.get(call.id) ?? track(records.adoptions, call.id, () => adoptOnce(call))
  }

  async function adoptOnce(call: ToolCall): Promise<ActionConfirmation> {
    const known = getByToolCall(call.id)
    if (known) {
      await records.proposals.get(known.token)
      if (isSettled(known.status)) {
        // Another turn's: whoever decided that one did not mean this one.
        denyRemains(call.id)
        throw new ConfigError(`The model used the id "${call.id}" for two calls, and the earlier one is decided.`, {
          hint: 'Ask again. The adapter has to give every call an id of its own.',
        })
      }
      return getByToolCall(call.id) ?? known
    }
    const token = tokenFor(freeId())
    const input = storableOf(call)
    return track(records.proposals, token, () =>
      proposeAs({ token, toolCallId: call.id, action: call.name, input }, async () => call),
    )
  }

  async function keep(token: string, call: ToolCall): Promise<ActionConfirmation> {
    if (records.get().some((record) => record.toolCallId === call.id && record.token !== token)) {
      throw new ConfigError('The chat answered with the call of another confirmation.', { hint: 'Make ids unique.' })
    }
    try {
      const status = call.status === 'requires_confirmation' ? 'pending' : 'rejected'
      const record = recordOf({ token, toolCallId: call.id, action: call.name, input: storable(call.args), status })
      // Messages first: a record without its call could be decided, but not run.
      await storeMessages?.()
      await records.add(record)
      return record
    } catch (error) {
      denyRemains(call.id)
      throw error
    }
  }

  function recordOf(fields: Omit<Confirmation, 'expiresAt'>): ActionConfirmation {
    return toActionConfirmation({ ...fields, expiresAt: now() + ttlMs }, sessionId)
  }

  /** Best effort: what led here is the error to report. */
  async function giveBack(record: ActionConfirmation, why: 'failed' | 'nothing-to-run'): Promise<void> {
    await records.giveBack(record, why).catch(() => undefined)
  }

  /**
   * A call without a record could be run by anybody who finds it in the chat. Not awaited: the chat marks the call at
   * once, and then goes on with the model's answer to it.
   */
  function denyRemains(toolCallId: string): void {
    permissions
      .hold(toolCallId, 'deny', async () => chat.deny(toolCallId, 'the confirmation could not be stored'))
      .catch(() => undefined)
  }

  function storableOf(call: ToolCall): JsonObject {
    try {
      return storable(call.args)
    } catch (error) {
      denyRemains(call.id)
      throw error
    }
  }

  return {
    propose,
    adopt,
    approve: (token, forSession) =>
      decide(token, forSession, (record) => carryOut(record, now() >= record.expiresAt ? 'expiring' : 'approving')),
    reject: (token, forSession, reason) => decide(token, forSession, (record) => carryOut(record, 'rejecting', reason)),
    getByToolCall,
    getSnapshot: () => records.get(),
  }
}

function tokenFor(id: string): string {
  return `confirm-${id}`
}

/** Known under its token before it begins: whoever hears of its first step already finds it. */
function track<T>(running: Map<string, Promise<T>>, token: string, run: () => Promise<T>): Promise<T> {
  const operation = Promise.resolve()
    .then(run)
    .finally(() => running.delete(token))
  running.set(token, operation)
  return operation
}

/** A copy of an input that the envelope can hold. */
function storable(input: unknown): JsonObject {
  if (isBoundedJsonObject(input, CONFIRMATION_INPUT_BOUNDS)) return structuredClone(input)
  throw new ConfigError("The action's input is not plain JSON within bounds.", {
    hint: 'At most 1000 values, 20 levels and 16,384 characters a text; no undefined, no class instances, no object twice.',
  })
}
