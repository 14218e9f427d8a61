import type { ClaimView, LateSettlement } from '../protocol/claim-view.ts'
import type { Decided, DeviceSession, SessionRow } from './device-session.ts'

/** An action that ran under an attempt which its token does not stand for, and the view of what it does stand for. */
export interface RunBeside {
  readonly view: ClaimView
  readonly late: LateSettlement
}

/** The runs of a session whose effect may have happened beside another one's, rule K8, and that nobody here has seen. */
export function unseenRuns({ claims, seenLate = [] }: SessionRow): readonly RunBeside[] {
  return runsBeside(claims).filter(({ late }) => !seenLate.includes(keyOf(late)))
}

/** The person here has seen them all. False: there are none. */
export function seeRuns({ row }: DeviceSession): Decided<boolean> {
  if (!row || unseenRuns(row).length === 0) return { result: false }
  const seenLate = runsBeside(row.claims).map(({ late }) => keyOf(late))
  return { change: { row: { ...row, seenLate } }, result: true }
}

function runsBeside(claims: SessionRow['claims']): readonly RunBeside[] {
  return Object.values(claims).flatMap((view) =>
    (view.late ?? [])
      .filter((late) => late.outcome === 'approved' && !standsFor(view, late))
      .map((late) => ({ view, late })),
  )
}

/** It was told again meanwhile, and it is this one that counts. */
function standsFor({ claimId, device, attempt }: ClaimView, late: LateSettlement): boolean {
  return claimId === late.claimId && device === late.device && attempt === late.attempt
}

function keyOf({ claimId, attempt, device }: LateSettlement): string {
  return `${claimId}.${attempt}.${device}`
}
