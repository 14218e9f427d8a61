import { readFileSync } from 'node:fs'
import { SignJWT } from 'jose'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { DEVICE_HEADER } from '../../../src/protocol/answer-fields.ts'
import { createAuthenticate } from '../../../sync-server/src/authenticate.ts'
import { createServer } from '../../../sync-server/src/create-server.ts'

const readme = readFileSync('README.md', 'utf8')
const blocks = [...readme.matchAll(/```tsx?\n(.*?)```/gs)].map(([, code = '']) => code)

function blockWith(text: string): string {
  const found = blocks.find((code) => code.includes(text))
  if (!found) throw new Error(`README.md has no example with ${text}`)
  return found
}

test('G10 the access token that README.md shows how to sign is one that the server takes', async () => {
  const secret = 'a secret as long as a hash of 256 bits is, and a bit longer'
  const lines = blockWith('SignJWT').split('\n')
  expect(lines[0]).toBe("import { SignJWT } from 'jose'")
  const code = ts.transpile(lines.slice(1).join('\n'), { target: ts.ScriptTarget.ES2022 })
  const sign = new Function('SignJWT', 'user', 'process', `return (async () => { ${code}; return jwt })()`)
  const token = await sign(SignJWT, { workspace: 'acme', id: 'ada' }, { env: { REJOIN_JWT_SECRET: secret } })

  const authenticate = createAuthenticate({ jwtSecret: secret, account: 'local', now: Date.now })
  const identity = await authenticate({ authorization: `Bearer ${token}` })
  expect(identity).toMatchObject({ account: 'acme', sub: 'ada' })
  expect(identity.expiresAt).toBeGreaterThan(Date.now())
})

test('G10 without a secret the account is the one that README.md says', async () => {
  const account = /openRejoin\(\{ account: '(\w+)', serverUrl: 'http:\/\/127/.exec(readme)?.[1]
  const { app, close } = await createServer({})
  const headers = { host: '127.0.0.1', [DEVICE_HEADER]: 'laptop' }
  const answer = await app.inject({ url: '/v1/sessions?since=0', headers })
  await close()
  expect(answer.json()).toMatchObject({ account })
})

test('the example of README.md stays at 15 lines, and shows a click that waits', () => {
  const example = blockWith('useOfflineChat')
  expect(example.trim().split('\n')).toHaveLength(15)
  expect(example).toContain('it.queued')
})
