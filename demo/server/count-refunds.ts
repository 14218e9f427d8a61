import type { DemoApp } from './demo-app.ts'
import type { Refund, RefundLedger } from './open-refund-ledger.ts'

const MAX_ID_LENGTH = 128
const MAX_LISTED = 100

/** `POST /demo/refunds` runs a refund, `GET /demo/refunds` tells how many ran: the only truth for "ran once". */
export function countRefunds(app: DemoApp, ledger: RefundLedger, now: () => number = Date.now): void {
  app.get('/demo/refunds', async (_request, reply) => {
    const refunds = ledger.refunds()
    return reply
      .header('cache-control', 'no-store')
      .send({ count: refunds.length, refunds: refunds.slice(-MAX_LISTED) })
  })
  app.post('/demo/refunds', { bodyLimit: 4096 }, async (request, reply) => {
    const refund = readRefund(request.body, now())
    if (!refund) {
      const message = `A refund needs an id and a device of 1 to ${MAX_ID_LENGTH} characters.`
      return reply.code(400).send({ code: 'bad-request', message, retryable: false })
    }
    ledger.record(refund)
    return reply.code(201).send({ count: ledger.refunds().length })
  })
}

function readRefund(body: unknown, at: number): Refund | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { id, device } = body as Record<string, unknown>
  return isName(id) && isName(device) ? { id, device, at } : undefined
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= MAX_ID_LENGTH
}
