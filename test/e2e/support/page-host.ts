import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const FOLDER = fileURLToPath(new URL('../harness/dist', import.meta.url))
const CONTENT_TYPES: Record<string, string> = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript' }

/** Hands out the harness page for the rest of the test, from an origin that is not the sync server's. */
export async function hostPage(): Promise<string> {
  const host = createServer(async ({ url = '/' }, response) => {
    const name = url === '/' ? 'index.html' : url
    try {
      const bytes = await readFile(path.join(FOLDER, path.normalize(name)))
      response.setHeader('content-type', CONTENT_TYPES[path.extname(name)] ?? 'application/octet-stream')
      response.end(bytes)
    } catch {
      response.writeHead(404).end()
    }
  })
  host.listen(0, '127.0.0.1')
  await once(host, 'listening')
  onTestFinished(() => {
    host.closeAllConnections()
    host.close()
  })
  const address = host.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`
}
