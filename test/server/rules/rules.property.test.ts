import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SnapshotSchema } from '../../../src/contract/session-snapshot.ts'
import { statusRank } from '../../../src/protocol/claim-status.ts'
import { ClaimAnswerSchema } from '../../../src/protocol/put-claim.ts'
import { SessionAnswerSchema } from '../../../src/protocol/session-answer.ts'
import { confirmation, put, snapshot } from '../sessions.ts'
import { createPureServer, T0 } from './pure-server.ts'

// Devices that know nothing of each other send what they like, in any order and twice. Whatever they send, the server
// keeps one winner per attempt (G1), never goes back (R1, R7), keeps every settlement that settles nothing (K8), and
// answers in the shapes of the protocol.

const TTL = 100
const device = fc.constantFrom('a', 'b', 'c')
const token = fc.constantFrom('t1', 't2')
const attempt = fc.nat({ max: 2 })
const claimId = fc.constantFrom('x', 'y')
const want = fc.constantFrom('approving' as const, 'rejecting' as const, 'expiring' as const)
const outcome = fc.constantFrom('approved' as const, 'rejected' as const, 'expired' as const)
const status = fc.constantFrom('pending' as const, 'approving' as const, 'approved' as const, 'rejected' as const)
const leftIn = fc.constantFrom(null, '1000-first', '900-zeroth')

const step = fc.oneof(
  fc.record({ kind: fc.constant('claim' as const), device, token, claimId, want, leftIn }),
  fc.record({ kind: fc.constant('settle' as const), device, token, claimId, attempt, outcome }),
  fc.record({
    kind: fc.constantFrom('release' as const, 'take-over' as const, 'clear-doubt' as const),
    device,
    token,
    claimId,
    attempt,
  }),
  fc.record({ kind: fc.constant('assert' as const), device, token, claimId, attempt, want }),
  fc.record({
    kind: fc.constant('put' as const),
    device,
    up: fc.integer({ min: -1, max: 3 }),
    statuses: fc.array(fc.tuple(token, status), { maxLength: 2 }),
    writeId: fc.constantFrom('w1', 'w2', 'w3'),
    fresh: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('later' as const), ms: fc.nat({ max: TTL }) }),
)

test('G1 R1 R7 K8 in any order of requests one claim wins an attempt, and nothing that is known goes back', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const server = createPureServer()
      const winners = new Map<string, string>()
      for (const it of steps) {
        const before = server.state()
        if (it.kind === 'later') {
          server.now += it.ms
          continue
        }
        if (it.kind === 'put') {
          const confirmations = [...new Map(it.statuses)].map(([name, shown]) =>
            confirmation(name, { status: shown, expiresAt: T0 + TTL }),
          )
          const asked = snapshot(Math.max(0, (before.session?.cursor ?? 0) + it.up), { confirmations })
          const answer = server.put(it.device, put(it.writeId, asked), it.fresh ? server.etag() : '"elsewhere"')
          if (answer.status < 300 || answer.status === 412) SessionAnswerSchema.parse(answer)
        } else {
          const id = `${it.device}-${it.claimId}`
          const about = confirmation(it.token, { expiresAt: T0 + TTL })
          const base = { incarnation: 'i1', claimId: id, note: 'said so' }
          const answer = server.claimOf(
            it.device,
            it.token,
            it.kind === 'claim'
              ? { ...base, op: it.kind, want: it.want, confirmation: about, leftIn: it.leftIn }
              : it.kind === 'settle'
                ? { ...base, op: it.kind, attempt: it.attempt, outcome: it.outcome }
                : it.kind === 'assert'
                  ? { ...base, op: it.kind, attempt: it.attempt, want: it.want, confirmation: about }
                  : { ...base, op: it.kind, attempt: it.attempt },
          )
          ClaimAnswerSchema.parse(answer)
          const row = server.state().claims.get(it.token)
          if (it.kind === 'settle' && answer.result === 'lost') {
            const said =
              row?.evidence.filter(({ how, sub }) => how === 'late-settlement' && sub.endsWith(it.device)) ?? []
            const kept = said.filter((each) => each.claimId === id && each.attempt === it.attempt)
            expect(kept.length === 1 || (kept.length === 0 && said.length === 16)).toBe(true)
            const late = row?.evidence.filter((each) => each.outcome).map((each) => each.claimId)
            expect(answer.claim.late?.map((each) => each.claimId)).toEqual(late)
          }
          if (answer.result === 'won') {
            const of = `${it.token} ${answer.claim.attempt}`
            expect(winners.get(of) ?? id).toBe(id)
            winners.set(of, id)
          }
        }
        const after = server.state()
        expect(after.session?.cursor ?? 0).toBeGreaterThanOrEqual(before.session?.cursor ?? 0)
        for (const [name, row] of before.claims) {
          const now = after.claims.get(name)
          expect(now?.attempt).toBeGreaterThanOrEqual(row.attempt)
          if (now?.attempt === row.attempt) {
            expect(statusRank(now.status)).toBeGreaterThanOrEqual(statusRank(row.status))
            if (statusRank(row.status) === 2) expect(now.status).toBe(row.status)
          }
        }
        if (after.snapshot) SnapshotSchema.parse(after.snapshot)
        for (const shown of after.snapshot?.confirmations ?? []) {
          const row = after.claims.get(shown.token)
          if (row) expect(shown.status).toBe(row.status)
        }
      }
    }),
    { numRuns: 300 },
  )
})
