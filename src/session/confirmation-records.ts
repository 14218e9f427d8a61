import type { ActionConfirmation, Outcome, Want } from './action-confirmation.ts'

/** Where a coordinator keeps its records. All coordinators of one session share the session's one list. */
export interface ConfirmationRecords {
  readonly get: () => readonly ActionConfirmation[]
  /** Shows a record that is not stored yet. Returns the way to take it away again. */
  readonly show: (record: ActionConfirmation) => () => void
  /** Stores a new record. A rejection leaves nothing behind. */
  readonly add: (record: ActionConfirmation) => Promise<void>
  /** Resolves with the record in its processing status: the permission to run, once. */
  readonly claim: (record: ActionConfirmation, want: Want) => Promise<ActionConfirmation>
  /** Stores how it ended, and resolves with the record as it then stands. */
  readonly settle: (record: ActionConfirmation, outcome: Outcome) => Promise<ActionConfirmation>
  /** After a run that failed, or that found `nothing-to-run`: who may try again is up to where the records are kept. */
  readonly giveBack: (record: ActionConfirmation, why: 'failed' | 'nothing-to-run') => Promise<void>
  /** Proposals under way, by token: a decision on a record that is not stored yet waits for it. */
  readonly proposals: Map<string, Promise<ActionConfirmation>>
  /** Calls that are being put before a person, by the id of the call. */
  readonly adoptions: Map<string, Promise<ActionConfirmation>>
  /** Decisions under way, by token: a second one joins the first instead of competing with it. */
  readonly operations: Map<string, Promise<ActionConfirmation>>
}
