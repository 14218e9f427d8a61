import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { startServer } from 'rejoin-server'
import { countRefunds } from './server/count-refunds.ts'
import { openRefundLedger } from './server/open-refund-ledger.ts'
import { servePage } from './server/serve-page.ts'

// The sync server with the page and the refund counter on the same origin. `PORT` and `DATA` say where.

const port = Number(process.env.PORT ?? 8787)
const data = process.env.DATA ?? '.data'
/** Seen from `demo/server/dist`, where this file is built to. */
const page = fileURLToPath(new URL('../../dist', import.meta.url))

mkdirSync(data, { recursive: true })
const ledger = openRefundLedger(path.join(data, 'refunds.log'))
const server = await startServer({
  host: '127.0.0.1',
  port,
  file: path.join(data, 'sync.sqlite'),
  account: 'demo',
  extend: (app) => {
    servePage(app, page)
    countRefunds(app, ledger)
  },
})
console.log(`The demo is at ${server.url}`)

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    await server.close()
    ledger.close()
    process.exit(0)
  })
}
