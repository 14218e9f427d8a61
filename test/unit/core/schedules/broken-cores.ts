import type { DeviceSession, SessionRow } from '../../../../src/core/device-session.ts'
import type { ClaimAnswer } from '../../../../src/protocol/put-claim.ts'
import { type Core, realCore } from './world.ts'

/** Ways to decide that look right and are not: random schedules have to find each of them. */
export const brokenCores: Readonly<Record<string, Core>> = {
  'a claim is asked again under another id': {
    ...realCore,
    sendClaim(session, claimId, epoch) {
      const again = session.claims.find((claim) => claim.claimId === claimId && claim.state === 'sent')
      if (!again) return realCore.sendClaim(session, claimId, epoch)
      const renamed = { ...again, claimId: `${claimId}.again` }
      return { change: { removeClaims: [claimId], putClaims: [renamed] }, result: renamed }
    },
  },
  'a lost claim throws the local snapshot away': {
    ...realCore,
    acceptClaimAnswer(session, claimId, answer, asked, deviceNow) {
      const decided = realCore.acceptClaimAnswer(session, claimId, answer, asked, deviceNow)
      if (decided.result.kind !== 'lost' || !decided.change?.row?.local || !answer.snapshot) return decided
      const { local } = decided.change.row
      const cursor = Math.max(local.cursor, answer.snapshot.cursor)
      return {
        ...decided,
        change: { ...decided.change, row: { ...decided.change.row, local: { ...answer.snapshot, cursor } } },
      }
    },
  },
  'a win always moves the base': {
    ...realCore,
    acceptClaimAnswer(session, claimId, answer, asked, deviceNow) {
      const decided = realCore.acceptClaimAnswer(session, claimId, answer, asked, deviceNow)
      const row = decided.change?.row
      if (decided.result.kind !== 'run' || !row) return decided
      return { ...decided, change: { ...decided.change, row: { ...row, ...baseOf(row, answer) } } }
    },
  },
  'a win stores what was asked over a later save': {
    ...realCore,
    acceptClaimAnswer(session, claimId, answer, asked, deviceNow) {
      const here = asked && { ...asked, expectedCursor: session.row?.local?.cursor }
      return realCore.acceptClaimAnswer(session, claimId, answer, here, deviceNow)
    },
  },
  'a PUT under way is written anew': {
    ...realCore,
    beginPush(session, context) {
      return realCore.beginPush(withRow(session, { sent: undefined }), context)
    },
  },
  'a PUT is sent before what it names is known': {
    ...realCore,
    beginPush: (session, context) => realCore.beginPush({ ...session, claims: [] }, context),
  },
  'an own write that was stored is taken for a conflict': {
    ...realCore,
    applyAnswer: (session, answer, context) => realCore.applyAnswer(session, { ...answer, lastWriteId: null }, context),
  },
  'late answers are news': {
    ...realCore,
    applyAnswer: (session, answer, context) =>
      realCore.applyAnswer(answer.snapshot ? withRow(session, { base: undefined }) : session, answer, context),
  },
  'an answer is not held back while a claim runs': {
    ...realCore,
    applyAnswer: (session, answer, context) => realCore.applyAnswer(session, answer, { ...context, holdBack: false }),
  },
  'a token that left is decided here': {
    ...realCore,
    saveSnapshot(session, request) {
      const decided = realCore.saveSnapshot(withRow(session, { left: {} }), request)
      const row = decided.change?.row
      return row && session.row
        ? { ...decided, change: { ...decided.change, row: { ...row, left: session.row.left } } }
        : decided
    },
  },
  'a queued claim runs before it is won': {
    ...realCore,
    startWonClaim(session, claimId, deviceNow) {
      const claims = session.claims.map((claim) =>
        claim.state === 'sent' ? { ...claim, state: 'won' as const } : claim,
      )
      return realCore.startWonClaim({ ...session, claims }, claimId, deviceNow)
    },
  },
  'a run that broke off starts again': {
    ...realCore,
    raiseAttention(session, claimId) {
      const claim = session.claims.find((each) => each.claimId === claimId)
      if (!claim) return { result: false }
      return { change: { putClaims: [{ ...claim, state: 'won' }] }, result: true }
    },
  },
  'a later save is clean when an earlier one was stored': {
    ...realCore,
    applyAnswer(session, answer, context) {
      const decided = realCore.applyAnswer(session, answer, context)
      const row = decided.change?.row
      const accepted = session.row?.sent !== undefined && session.row.sent.writeId === answer.lastWriteId
      return accepted && row && answer.snapshot
        ? { ...decided, change: { ...decided.change, row: { ...row, dirty: false } } }
        : decided
    },
  },
}

function withRow(session: DeviceSession, change: Partial<SessionRow>): DeviceSession {
  return session.row ? { ...session, row: { ...session.row, ...change } } : session
}

function baseOf(row: SessionRow, { snapshot, etag, head }: ClaimAnswer): Partial<SessionRow> {
  if (!snapshot || !etag) return {}
  return { base: { snapshot, etag, cursor: snapshot.cursor, head }, left: row.left, dirty: row.dirty }
}
