import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createServer } from 'rejoin-server'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { countRefunds } from '../../../demo/server/count-refunds.ts'
import { openRefundLedger } from '../../../demo/server/open-refund-ledger.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'rejoin-demo-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function serve() {
  const ledger = openRefundLedger(path.join(folder, 'refunds.log'))
  const { app, close } = await createServer({ extend: (routes) => countRefunds(routes, ledger, () => 5) })
  onTestFinished(close)
  return { app, ledger }
}

const url = '/demo/refunds'

test('every run counts, the same refund twice too, and the count survives the process', async () => {
  const first = await serve()
  for (const [at, device] of ['Phone', 'Laptop'].entries()) {
    const answer = await first.app.inject({ method: 'POST', url, payload: { id: 'one', device } })
    expect([answer.statusCode, answer.json()]).toEqual([201, { count: at + 1 }])
  }
  // Opened again without a close, as after a kill.
  const second = await serve()
  expect((await second.app.inject({ url })).json()).toEqual({
    count: 2,
    refunds: [
      { id: 'one', device: 'Phone', at: 5 },
      { id: 'one', device: 'Laptop', at: 5 },
    ],
  })
})

test('half a line of a killed process does not count and does not spoil the next one', async () => {
  const file = path.join(folder, 'refunds.log')
  openRefundLedger(file).record({ id: 'one', device: 'Phone', at: 1 })
  appendFileSync(file, '{"id":"tw')
  openRefundLedger(file).record({ id: 'three', device: 'Phone', at: 3 })
  expect(
    openRefundLedger(file)
      .refunds()
      .map((refund) => refund.id),
  ).toEqual(['one', 'three'])
})

test('what is not a refund is refused with a code and counts nothing', async () => {
  const { app, ledger } = await serve()
  for (const payload of [
    {},
    [],
    { id: '', device: 'Phone' },
    { id: 'x'.repeat(129), device: 'Phone' },
    { id: 'one' },
  ]) {
    const answer = await app.inject({ method: 'POST', url, payload })
    expect([answer.statusCode, answer.json().code]).toEqual([400, 'bad-request'])
  }
  const large = await app.inject({ method: 'POST', url, payload: { id: 'one', device: 'x'.repeat(5000) } })
  expect(large.statusCode).toBe(413)
  expect(ledger.refunds()).toEqual([])
})
