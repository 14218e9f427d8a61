import type { Outcome } from '../../../src/protocol/claim-status.ts'
import { type LateSettlement, MAX_LATE_SETTLEMENTS } from '../../../src/protocol/claim-view.ts'
import type { ClaimRecord, Evidence, RuleContext } from './session-state.ts'

/** Which attempt of which claim somebody speaks of. */
export interface Statement {
  readonly claimId: string
  readonly attempt: number
  readonly note?: string | undefined
}

/** So many entries of one kind one person leaves about one token: nobody fills the list, or pushes out what others said. */
const MAX_OF_ONE_PERSON = 16

/** The row with what was said of it on record; of one person's too many, the oldest goes. */
export function addEvidence(
  row: ClaimRecord,
  how: Exclude<Evidence['how'], 'late-settlement'>,
  statement: Statement,
  context: RuleContext,
): ClaimRecord {
  const entry = entryOf(how, statement, context)
  const oldest = ofPerson(row, how, context).at(-MAX_OF_ONE_PERSON)
  return { ...row, evidence: [...row.evidence.filter((it) => it !== oldest), entry] }
}

/**
 * The row with a settlement on record that came when its attempt had ended, or from somebody whom the row does not stand
 * for, rule K8: what it says may have happened. `undefined`: it is on record, or this person has said so too often.
 */
export function addLateSettlement(
  row: ClaimRecord,
  { outcome, ...statement }: Statement & { readonly outcome: Outcome },
  context: RuleContext,
): ClaimRecord | undefined {
  const said = ofPerson(row, 'late-settlement', context)
  const { claimId, attempt } = statement
  const again = said.some((it) => it.claimId === claimId && it.attempt === attempt && it.device === context.device)
  if (again || said.length >= MAX_OF_ONE_PERSON) return undefined
  return { ...row, evidence: [...row.evidence, { ...entryOf('late-settlement', statement, context), outcome }] }
}

/** What everybody is told of them. */
export function lateSettlements({ evidence }: ClaimRecord): readonly LateSettlement[] {
  return evidence
    .flatMap(({ attempt, claimId, device, label, sub, at, outcome }): readonly LateSettlement[] =>
      outcome ? [{ attempt, claimId, device, ...(label !== undefined && { label }), sub, at, outcome }] : [],
    )
    .slice(0, MAX_LATE_SETTLEMENTS)
}

function ofPerson({ evidence }: ClaimRecord, how: Evidence['how'], { sub }: RuleContext): readonly Evidence[] {
  return evidence.filter((it) => it.how === how && it.sub === sub)
}

function entryOf(
  how: Evidence['how'],
  { claimId, attempt, note }: Statement,
  { device, label, sub, now }: RuleContext,
): Evidence {
  return {
    attempt,
    claimId,
    device,
    ...(label !== undefined && { label }),
    sub,
    at: now,
    how,
    ...(note !== undefined && { note }),
  }
}
