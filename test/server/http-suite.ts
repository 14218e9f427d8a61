import { expect, type TestAPI } from 'vitest'
import * as Y from 'yjs'
import { base64ToBytes, bytesToBase64 } from '../../src/protocol/base64.ts'
import { FeedAnswerSchema } from '../../src/protocol/feed.ts'
import { MAX_REQUEST_BYTES } from '../../src/protocol/limits.ts'
import { ProblemSchema } from '../../src/protocol/problem.ts'
import { ClaimAnswerSchema } from '../../src/protocol/put-claim.ts'
import { TurnAnswerSchema } from '../../src/protocol/put-turn.ts'
import { SessionAnswerSchema } from '../../src/protocol/session-answer.ts'
import { GetUpdatesAnswerSchema, PostUpdatesAnswerSchema, UpdatesGapSchema } from '../../src/protocol/updates.ts'
import type { Answered, Ask, Asked } from './ask.ts'
import { craftUpdate, text } from './crafted-update.ts'
import { confirmation, put, snapshot } from './sessions.ts'

const create = { 'if-none-match': '*' }
const from = (device: string) => ({ 'rejoin-device': device })

/** A refusal in full: typed, a problem document, and nothing of the request in it. */
function expectProblem(answer: Answered, status: number, code: string): void {
  expect(answer.status).toBe(status)
  expect(answer.body).toMatchObject({ code, server: 'rejoin', epoch: expect.any(String), time: expect.any(Number) })
  expect(answer.header('content-type')).toContain('application/problem+json')
  ProblemSchema.parse(answer.body)
}

/** What the server answers over HTTP, however the request gets there. `ask` speaks to a server of its own. */
export function httpSuite(test: TestAPI, way: string, withServer: (run: (ask: Ask) => Promise<void>) => Promise<void>) {
  const onServer = (name: string, run: (ask: Ask) => Promise<void>) => test(`${name} (${way})`, () => withServer(run))
  const putSession = (ask: Ask, asked: Asked & { id?: string }) =>
    ask(`/v1/sessions/${asked.id ?? 's1'}`, { method: 'PUT', ...asked })

  onServer('R6 a snapshot is created, read and updated by its ETag', async (ask) => {
    const created = await putSession(ask, { headers: create, body: put('w1', snapshot(1)) })
    expect(created.status).toBe(201)
    expect(created.header('etag')).toBe(created.body.etag)
    expect(created.header('cache-control')).toBe('no-store')
    SessionAnswerSchema.parse(created.body)
    const updated = await putSession(ask, { headers: { 'if-match': created.body.etag }, body: put('w2', snapshot(2)) })
    expect(updated).toMatchObject({ status: 200, body: { etagBefore: created.body.etag, account: 'acme' } })
    const read = await ask('/v1/sessions/s1', { headers: from('b') })
    expect(read).toMatchObject({ status: 200, body: { snapshot: { cursor: 2 }, lastWriteId: null } })
  })

  onServer('G5 a stale ETag is answered 412 with what is stored, and is no problem document', async (ask) => {
    await putSession(ask, { headers: create, body: put('w1', snapshot(1)) })
    const stale = await putSession(ask, { headers: { ...from('b'), 'if-match': '"x"' }, body: put('w2', snapshot(2)) })
    expect(stale).toMatchObject({ status: 412, body: { snapshot: { cursor: 1 } } })
    expect(stale.header('content-type')).toContain('application/json')
    SessionAnswerSchema.parse(stale.body)
  })

  onServer('a PUT without a condition, or with both, is refused: nothing is overwritten unseen', async (ask) => {
    expectProblem(await putSession(ask, { body: put('w1', snapshot(1)) }), 400, 'bad-request')
    const both = { ...create, 'if-match': '"x"' }
    expectProblem(await putSession(ask, { headers: both, body: put('w1', snapshot(1)) }), 400, 'bad-request')
    expectProblem(await ask('/v1/sessions/s1'), 404, 'not-found')
  })

  onServer(
    'G1 F1 of two devices that claim one token, one wins and the other is told where it was decided',
    async (ask) => {
      await putSession(ask, { headers: create, body: put('w1', snapshot(1, { confirmations: [confirmation('t1')] })) })
      const claim = (device: string, label: string) =>
        ask('/v1/sessions/s1/claims/t1', {
          method: 'PUT',
          headers: { ...from(device), 'rejoin-device-label': encodeURIComponent(label) },
          body: {
            op: 'claim',
            incarnation: 'i1',
            claimId: `claim-${device}`,
            want: 'approving',
            confirmation: confirmation('t1'),
            leftIn: null,
          },
        })
      const answers = await Promise.all([claim('a', 'Anns Laptop ☕'), claim('b', 'Phone')])
      for (const answer of answers) ClaimAnswerSchema.parse(answer.body)
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
      const winner = answers.find(({ status }) => status === 200)?.body.claim
      const loser = answers.find(({ status }) => status === 409)?.body
      expect(loser).toMatchObject({ result: 'lost', claim: winner })
      expect(winner.label).toBe(winner.device === 'a' ? 'Anns Laptop ☕' : 'Phone')
    },
  )

  onServer('T1 the turn is a lease by the clock of the server', async (ask) => {
    const take = (device: string) =>
      ask('/v1/sessions/s1/turn', {
        method: 'PUT',
        headers: from(device),
        body: { op: 'take', incarnation: 'i1', turnId: `turn-${device}`, leaseMs: 60_000 },
      })
    const first = await take('a')
    TurnAnswerSchema.parse(first.body)
    expect(first.body.granted).toBe(true)
    expect((await take('b')).body).toMatchObject({ granted: false, lease: { device: 'a' } })
  })

  onServer('G4 I1 updates are appended, make the session, and are read again by position', async (ask) => {
    const doc = new Y.Doc()
    doc.getText('about').insert(0, 'hello')
    const one = Y.encodeStateAsUpdate(doc)
    const before = Y.encodeStateVector(doc)
    doc.getText('about').insert(5, ' world')
    const two = Y.encodeStateAsUpdate(doc, before)
    const post = (updates: readonly Uint8Array[]) =>
      ask('/v1/sessions/s1/updates', {
        method: 'POST',
        body: { incarnation: 'i1', updates: updates.map(bytesToBase64) },
      })
    const first = await post([one])
    expect(first).toMatchObject({ status: 200, body: { head: 1, incarnation: 'i1' } })
    PostUpdatesAnswerSchema.parse(first.body)
    expect((await post([one, two])).body.head).toBe(2)
    const read = await ask('/v1/sessions/s1/updates?since=0&incarnation=i1')
    GetUpdatesAnswerSchema.parse(read.body)
    expect(read.body).toMatchObject({ from: 0, head: 2, more: false })
    const copy = new Y.Doc()
    for (const update of read.body.updates) Y.applyUpdate(copy, base64ToBytes(update))
    expect(copy.getText('about').toString()).toBe('hello world')
    expect((await ask('/v1/sessions/s1/updates?since=1&incarnation=i1')).body.updates).toHaveLength(1)
    expect((await ask('/v1/sessions/s1')).body).toMatchObject({ head: 2, snapshot: null, etag: null })
  })

  onServer('an update whose predecessors are missing is a gap with the state vector of the log', async (ask) => {
    const post = (update: Uint8Array) =>
      ask('/v1/sessions/s1/updates', {
        method: 'POST',
        body: { incarnation: 'i1', updates: [bytesToBase64(update)] },
      })
    await post(craftUpdate({ clients: text(7, 0, 'hello') }))
    const gap = await post(craftUpdate({ clients: text(7, 9, '!') }))
    expectProblem(gap, 409, 'gap')
    UpdatesGapSchema.parse(gap.body)
    expect(gap.body.retryable).toBe(true)
    expect(Y.decodeStateVector(base64ToBytes(gap.body.stateVector))).toEqual(new Map([[7, 5]]))
    expectProblem(await post(Uint8Array.of(1, 2, 3)), 422, 'update-invalid')
    expect((await ask('/v1/sessions/s1/updates?since=0&incarnation=i1')).body.head).toBe(1)
  })

  onServer('the feed lists what moved, with tombstones', async (ask) => {
    await putSession(ask, { headers: create, body: put('w1', snapshot(1)) })
    const other = put('w2', snapshot(1, { sessionId: 's2' }), { incarnation: 'i2' })
    const { body } = await putSession(ask, { id: 's2', headers: create, body: other })
    await ask('/v1/sessions/s1?incarnation=i1', { method: 'DELETE' })
    const feed = await ask('/v1/sessions?since=0')
    FeedAnswerSchema.parse(feed.body)
    expect(feed.body).toMatchObject({
      head: 3,
      items: [
        { sessionId: 's2', incarnation: 'i2', etag: body.etag, deleted: false },
        { sessionId: 's1', incarnation: 'i1', etag: null, deleted: true },
      ],
    })
    expect((await ask(`/v1/sessions?since=${feed.body.head}`)).body.items).toEqual([])
  })

  onServer('G8 I1 after a delete every write of its incarnation is deleted, and nothing of it is read', async (ask) => {
    await putSession(ask, { headers: create, body: put('w1', snapshot(1)) })
    expect((await ask('/v1/sessions/s1?incarnation=i1', { method: 'DELETE' })).status).toBe(200)
    expectProblem(await putSession(ask, { headers: create, body: put('w2', snapshot(2)) }), 410, 'deleted')
    expectProblem(await ask('/v1/sessions/s1/updates?since=0&incarnation=i1'), 410, 'deleted')
    const update = bytesToBase64(craftUpdate({ clients: text(7, 0, 'x') }))
    const late = await ask('/v1/sessions/s1/updates', {
      method: 'POST',
      body: { incarnation: 'i1', updates: [update] },
    })
    expectProblem(late, 410, 'deleted')
    expectProblem(await ask('/v1/sessions/s1'), 404, 'not-found')
  })

  onServer('I1 beside another live incarnation the answer says where that one stands', async (ask) => {
    await putSession(ask, { headers: create, body: put('w1', snapshot(1)) })
    const other = await putSession(ask, { headers: create, body: put('w2', snapshot(1), { incarnation: 'i2' }) })
    expectProblem(other, 409, 'other-incarnation')
    SessionAnswerSchema.parse(other.body)
    expectProblem(await ask('/v1/sessions/s1/updates?since=0&incarnation=i2'), 409, 'other-incarnation')
  })

  const badSnapshots: Record<string, [unknown, string]> = {
    'of a wrong version': [{ ...snapshot(1), version: 9 }, 'unsupported-version'],
    'without a version': [{ ...snapshot(1), version: undefined }, 'snapshot-invalid'],
    'of a foreign session': [snapshot(1, { sessionId: 's2' }), 'snapshot-invalid'],
    'with two confirmations of one token': [
      snapshot(1, { confirmations: [confirmation('t1'), confirmation('t1', { toolCallId: 'x' })] }),
      'snapshot-invalid',
    ],
    'with a cursor that is no number': [{ ...snapshot(1), cursor: '1' }, 'snapshot-invalid'],
    'that is a list': [[], 'snapshot-invalid'],
  }
  for (const [what, [bad, code]] of Object.entries(badSnapshots)) {
    onServer(`F62 a snapshot ${what} is ${code}, and nothing is written`, async (ask) => {
      const body = { incarnation: 'i1', writeId: 'w1', snapshot: bad }
      expectProblem(await putSession(ask, { headers: create, body }), 422, code)
      expectProblem(await ask('/v1/sessions/s1'), 404, 'not-found')
      expect((await ask('/v1/sessions')).body.head).toBe(0)
    })
  }

  const badBodies: Record<string, [string, number, string]> = {
    'is no JSON': ['{"incarnation":', 400, 'bad-request'],
    'is empty': ['', 400, 'bad-request'],
    'is no object': ['7', 400, 'bad-request'],
    'lacks a field': ['{"incarnation":"i1"}', 400, 'bad-request'],
    'would replace a prototype': ['{"incarnation":"i1","__proto__":{"admin":true}}', 400, 'bad-request'],
    'would replace a constructor': ['{"a":{"constructor":{"prototype":{"admin":true}}}}', 400, 'bad-request'],
    'nests 65 levels': ['['.repeat(65) + ']'.repeat(65), 400, 'too-deep'],
    'nests a megabyte': ['['.repeat(1_000_000), 400, 'too-deep'],
    'is a byte too large': [`"${'x'.repeat(MAX_REQUEST_BYTES - 1)}"`, 413, 'too-large'],
  }
  for (const [what, [body, status, code]] of Object.entries(badBodies)) {
    onServer(`F62 a body that ${what} is ${code}, and the server goes on`, async (ask) => {
      const paths = ['/v1/sessions/s1', '/v1/sessions/s1/claims/t1', '/v1/sessions/s1/turn'] as const
      for (const path of paths) {
        const headers = { ...create, 'content-type': 'application/json' }
        expectProblem(await ask(path, { method: 'PUT', headers, body }), status, code)
      }
      expect(({} as { admin?: boolean }).admin).toBeUndefined()
      expect((await putSession(ask, { headers: create, body: put('w1', snapshot(1)) })).status).toBe(201)
    })
  }

  onServer('a body of exactly the limit is read, and brackets in a text are no depth', async (ask) => {
    const filler = `"${'['.repeat(MAX_REQUEST_BYTES - 2)}"`
    const headers = { ...create, 'content-type': 'application/json' }
    expectProblem(await ask('/v1/sessions/s1', { method: 'PUT', headers, body: filler }), 400, 'bad-request')
  })

  onServer('ids, positions and devices that are none are refused', async (ask) => {
    const update = { method: 'POST', body: { incarnation: 'i1', updates: ['!'] } } as const
    for (const [path, asked] of [
      ['/v1/sessions/.s1', {}],
      [`/v1/sessions/${'s'.repeat(129)}`, {}],
      ['/v1/sessions?since=-1', {}],
      ['/v1/sessions?since=x', {}],
      ['/v1/sessions/s1/updates?since=0', {}],
      ['/v1/sessions/s1', { method: 'DELETE' }],
      ['/v1/sessions', { headers: from('no device') }],
      ['/v1/sessions', { headers: from('') }],
      ['/v1/sessions', { headers: { 'rejoin-device-label': '%zz' } }],
      ['/v1/sessions', { headers: { 'rejoin-device-label': 'x'.repeat(129) } }],
      ['/v1/sessions/s1/updates', update],
    ] as const) {
      expectProblem(await ask(path, asked as Asked), 400, 'bad-request')
    }
    expectProblem(await ask('/v1/nothing'), 404, 'not-found')
  })

  onServer('an id of the full length is an id', async (ask) => {
    const sessionId = 's'.repeat(128)
    const asked = put('w1', snapshot(1, { sessionId }))
    expect((await putSession(ask, { id: sessionId, headers: create, body: asked })).status).toBe(201)
    const release = { op: 'release', incarnation: 'i1', claimId: 'c1', attempt: 0 }
    const token = 't'.repeat(128)
    const answer = await ask(`/v1/sessions/${sessionId}/claims/${token}`, { method: 'PUT', body: release })
    expect(answer.body).toMatchObject({ result: 'refused', claim: { token } })
  })

  onServer('ifMatch, snapshot and writeId come together or not at all', async (ask) => {
    const release = { op: 'release', turnId: 'turn1', incarnation: 'i1', outcome: 'completed', writeId: 'w1' }
    expectProblem(await ask('/v1/sessions/s1/turn', { method: 'PUT', body: release }), 400, 'bad-request')
  })

  onServer('an access token in the URL, a compressed body and a body that is not JSON are refused', async (ask) => {
    expectProblem(await ask('/v1/sessions?token=abc'), 400, 'bad-request')
    expectProblem(await ask('/v1/sessions?since=0&access_token=abc'), 400, 'bad-request')
    const zipped = { method: 'PUT', headers: { ...create, 'content-encoding': 'gzip' }, body: '{}' } as const
    expectProblem(await ask('/v1/sessions/s1', zipped), 400, 'bad-request')
    const plain = { method: 'PUT', headers: { ...create, 'content-type': 'text/plain' }, body: '{}' } as const
    expectProblem(await ask('/v1/sessions/s1', plain), 400, 'bad-request')
  })

  onServer('it says that it lives, that it is ready, and counts without ids', async (ask) => {
    await putSession(ask, { headers: create, body: put('w1', snapshot(1)) })
    await ask('/v1/sessions/canary-id')
    expect((await ask('/healthz')).body).toEqual({ ok: true })
    expect((await ask('/readyz')).body).toMatchObject({ ok: true, epoch: expect.any(String) })
    const { body } = await ask('/metrics')
    expect(body).toContain('rejoin_refusals_total{code="not-found"} 1')
    expect(body).toMatch(/rejoin_requests_total\{status="2xx"\} \d/)
    expect(body).not.toContain('canary-id')
  })
}
