import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { DemoApp } from './demo-app.ts'

const CONTENT_TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/** Serves the files that lie in `folder` at this moment, each under a route of its own: no path leads elsewhere. */
export function servePage(app: DemoApp, folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const type = CONTENT_TYPES[path.extname(name)]
    if (!type) continue
    const bytes = readFileSync(path.join(folder, name))
    const page = name === 'index.html'
    const url = page ? '/' : `/${name.split(path.sep).join('/')}`
    // The other names carry a hash of their content.
    const caching = url.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
    app.get(url, async (_request, reply) =>
      reply
        .header('content-type', type)
        .header('cache-control', caching)
        .header('content-security-policy', CONTENT_SECURITY_POLICY)
        .header('referrer-policy', 'no-referrer')
        .header('x-content-type-options', 'nosniff')
        .send(bytes),
    )
  }
}
