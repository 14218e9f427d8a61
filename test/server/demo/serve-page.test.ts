import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createServer } from 'rejoin-server'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { servePage } from '../../../demo/server/serve-page.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'rejoin-page-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function serve() {
  mkdirSync(path.join(folder, 'dist/assets'), { recursive: true })
  writeFileSync(path.join(folder, 'secret.html'), 'secret')
  writeFileSync(path.join(folder, 'dist/index.html'), '<title>Demo</title>')
  writeFileSync(path.join(folder, 'dist/notes.txt'), 'not for the web')
  writeFileSync(path.join(folder, 'dist/assets/main-1a.js'), 'export {}')
  const { app, close } = await createServer({ extend: (routes) => servePage(routes, path.join(folder, 'dist')) })
  onTestFinished(close)
  return app
}

test('the page is served with its type, its policy, and whatever its query says', async () => {
  const app = await serve()
  const page = await app.inject('/?device=phone&session=desk')
  expect(page.statusCode).toBe(200)
  expect(page.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': expect.stringContaining("default-src 'self'; object-src 'none'"),
    'cache-control': 'no-cache',
  })
  const script = await app.inject('/assets/main-1a.js')
  expect(script.headers['content-type']).toBe('text/javascript; charset=utf-8')
  expect(script.headers['cache-control']).toContain('immutable')
})

test('nothing but the built files is served, whatever the path looks like', async () => {
  const app = await serve()
  for (const url of ['/../secret.html', '/assets/../../secret.html', '/%2e%2e/secret.html', '/notes.txt', '/assets']) {
    expect((await app.inject(url)).statusCode).toBe(404)
  }
})
