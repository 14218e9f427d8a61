import type { Confirmation, ConfirmationStatus } from '../contract/session-snapshot.ts'
import { type ActionConfirmation, toActionConfirmation, withStatus } from './action-confirmation.ts'
import { ConfigError } from './config-error.ts'
import {
  type ActionConfirmationCoordinator,
  type CoordinatorOptions,
  createCoordinator,
} from './confirmation-coordinator.ts'
import type { ConfirmationRecords } from './confirmation-records.ts'

export interface ActionConfirmationOptions extends CoordinatorOptions {
  readonly sessionId: string
  readonly initialRecords?: readonly Confirmation[]
  /** Stores all records after a change; what it rejects with takes the change back. */
  readonly onChange?: (records: readonly ActionConfirmation[]) => void | Promise<void>
  /** Stores one change of status in place of `onChange`; `false`: somebody else resolved the confirmation. */
  readonly claimStatus?: (
    record: ActionConfirmation,
    status: Exclude<ConfirmationStatus, 'pending'>,
  ) => boolean | Promise<boolean>
}

/**
 * A coordinator of its own, for hosts that keep confirmations themselves. Sessions make theirs with
 * `session.createConfirmation`, which stores each step by compare-and-set.
 */
export function createActionConfirmation(options: ActionConfirmationOptions): ActionConfirmationCoordinator {
  return createCoordinator({ ...options, records: createOwnRecords(options) })
}

function createOwnRecords(options: ActionConfirmationOptions): ConfirmationRecords {
  const { sessionId, initialRecords = [], onChange, claimStatus } = options
  const records = new Map(
    initialRecords.map((each) => [each.token, toActionConfirmation(structuredClone(each), sessionId)]),
  )
  const shown = new Map<string, ActionConfirmation>()

  async function put(record: ActionConfirmation): Promise<void> {
    const before = records.get(record.token)
    records.set(record.token, record)
    try {
      await onChange?.(Object.freeze([...records.values()]))
    } catch (error) {
      if (before) records.set(before.token, before)
      else records.delete(record.token)
      throw error
    }
  }

  async function move(record: ActionConfirmation, status: Exclude<ConfirmationStatus, 'pending'>) {
    const moved = withStatus(record, status)
    if (!claimStatus) await put(moved)
    else if (await claimStatus(record, status)) records.set(moved.token, moved)
    else throw new ConfigError('The confirmation was already resolved by another client.')
    return moved
  }

  return {
    get: () => Object.freeze([...records.values(), ...[...shown.values()].filter(({ token }) => !records.has(token))]),
    show(record) {
      shown.set(record.token, record)
      return () => shown.delete(record.token)
    },
    add: put,
    claim: move,
    settle: move,
    // With a claim that somebody else can see, only they know whether it may be tried again.
    async giveBack(record) {
      if (claimStatus) return
      records.set(record.token, withStatus(record, 'pending'))
      await onChange?.(Object.freeze([...records.values()]))
    },
    proposals: new Map(),
    adoptions: new Map(),
    operations: new Map(),
  }
}
