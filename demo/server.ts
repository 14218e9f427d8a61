import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { startServer } from 'rejoin-server'
import { countRefunds } from './server/count-refunds.ts'
import { openRefundLedger, type RefundLedger } from './server/open-refund-ledger.ts'
import { noteRunning } from './server/running-demo.mjs'
import { servePage } from './server/serve-page.ts'

// The sync server with the page and the refund counter on the same origin. `PORT` and `DATA` say where.

const port = Number(process.env.PORT ?? 8787)
const data = process.env.DATA ?? '.data'
/** Seen from `demo/server/dist`, where this file is built to. */
const page = fileURLToPath(new URL('../../dist', import.meta.url))

async function run(): Promise<void> {
  let ledger: RefundLedger | undefined
  mkdirSync(data, { recursive: true })
  const server = await startServer({
    host: '127.0.0.1',
    port,
    file: path.join(data, 'sync.sqlite'),
    account: 'demo',
    extend: (app) => {
      // Only now it is certain that no other server works in this folder.
      ledger = openRefundLedger(path.join(data, 'refunds.log'))
      servePage(app, page)
      countRefunds(app, ledger)
    },
  })
  const removeNote = await noteRunning(data, server.url)
  console.log(`The demo is at ${server.url}`)

  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, async () => {
      await server.close()
      await removeNote()
      ledger?.close()
      process.exit(0)
    })
  }
}

run().catch((error: Error & { readonly code?: string }) => {
  console.error(`The demo did not start. ${error.message}`)
  if (error.code === 'storage-unavailable' || error.code === 'EADDRINUSE') {
    console.error('Stop the other server, or start this one beside it: DATA=.data-2 PORT=8788 npm start')
  }
  process.exit(1)
})
