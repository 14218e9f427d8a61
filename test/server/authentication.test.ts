import { SignJWT } from 'jose'
import { createServer, type RejoinServer } from 'rejoin-server'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bytesToBase64 } from '../../src/protocol/base64.ts'
import { encodeUpdate } from '../../sync-server/src/room-frames.ts'
import { type Ask, type Asked, askByInjection } from './ask.ts'
import { craftUpdate, text } from './crafted-update.ts'
import { isUpdate, joinRoom } from './room-client.ts'
import { confirmation, put, snapshot } from './sessions.ts'

const SECRET = 'a secret that is thirty-two bytes long'
const NOW = Date.UTC(2026, 2, 1, 10)

let server: RejoinServer
let url = ''
let ask: Ask
beforeAll(async () => {
  server = await createServer({ jwtSecret: SECRET, port: 0, now: () => NOW, origins: ['https://app.example'] })
  url = await server.listen()
  ask = askByInjection(server)
})
afterAll(() => server.close())

const seconds = (ms: number) => Math.floor(ms / 1000)
/** Ends in a minute, unless `claims` say otherwise. */
function token(claims: Record<string, unknown>, secret = SECRET, alg = 'HS256'): Promise<string> {
  const payload = { exp: seconds(NOW) + 60, ...claims }
  return new SignJWT(payload).setProtectedHeader({ alg }).sign(new TextEncoder().encode(secret))
}
const bearer = (value: string) => ({ authorization: `Bearer ${value}` })

test('the account and the person of an answer are those of the token', async () => {
  const headers = bearer(await token({ account: 'acme', sub: 'ann' }))
  expect(await ask('/v1/sessions', { headers })).toMatchObject({ status: 200, body: { account: 'acme' } })
})

test('a token that does not verify or has ended is unauthorized, and not told why', async () => {
  const good = await token({ account: 'acme', sub: 'ann' })
  const wrong = [
    await token({ account: 'acme', sub: 'ann' }, 'another secret of thirty-two bytes, at least'),
    await token({ account: 'acme', sub: 'ann' }, SECRET, 'HS512'),
    await token({ account: 'acme', sub: 'ann', exp: seconds(NOW) - 1 }),
    await token({ account: 'acme', sub: 'ann', nbf: seconds(NOW) + 60 }),
    `${good}x`,
    'eyJhbGciOiJub25lIn0.eyJhY2NvdW50IjoiYWNtZSIsInN1YiI6ImFubiJ9.',
    'nonsense',
    '',
  ]
  const messages = new Set<string>()
  for (const value of wrong) {
    const answer = await ask('/v1/sessions', { headers: bearer(value) })
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized', retryable: false } })
    expect(answer.header('www-authenticate')).toBe('Bearer')
    if (value) messages.add(answer.body.message)
  }
  expect(messages.size).toBe(1)
  expect((await ask('/v1/sessions')).status).toBe(401)
  expect((await ask('/v1/sessions', { headers: { authorization: `Basic ${good}` } })).status).toBe(401)
})

test('a token that names nobody is unauthorized, and its issuer is told what it lacks', async () => {
  const lacking = [
    [{ account: '', sub: 'ann' }, '"account"'],
    [{ account: 'x'.repeat(257), sub: 'ann' }, '"account"'],
    [{ account: 'acme' }, '"sub"'],
    [{ sub: 'ann' }, '"account"'],
    [{ sub: 7 }, '"account" and "sub"'],
  ] as const
  for (const [claims, named] of lacking) {
    const answer = await ask('/v1/sessions', { headers: bearer(await token(claims)) })
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized', retryable: false } })
    expect(answer.body.message).toBe(`The access token has no usable claim ${named}.`)
    expect(answer.body.hint).toContain('"account"')
  }
})

test('a token that never ends is unauthorized, and its issuer is told what it lacks', async () => {
  const endless = await token({ account: 'acme', sub: 'ann', exp: undefined })
  const answer = await ask('/v1/sessions', { headers: bearer(endless) })
  expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized', retryable: false } })
  expect(answer.body.hint).toContain('"exp"')
  const protocols = ['rejoin.v1', `bearer.${endless}`]
  await expect(joinRoom(url, 's1', { protocols })).rejects.toMatchObject({ status: 401 })
})

test('a token is asked for before the body is read', async () => {
  const asked: Asked = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{' }
  expect((await ask('/v1/sessions/s1', asked)).status).toBe(401)
})

test('G10 nothing of one account is read, changed or noticed by another, whatever it asks', async () => {
  const acme = bearer(await token({ account: 'acme', sub: 'ann' }))
  const evil = bearer(await token({ account: 'evil', sub: 'eve' }))
  const asked = put('w1', snapshot(1, { confirmations: [confirmation('t1')] }))
  const body = { method: 'PUT', headers: { ...acme, 'if-none-match': '*' }, body: asked } as const
  const created = await ask('/v1/sessions/s1', body)
  const update = bytesToBase64(craftUpdate({ clients: text(7, 0, 'secret') }))
  const updates = { incarnation: 'i1', updates: [update] }
  await ask('/v1/sessions/s1/updates', { method: 'POST', headers: acme, body: updates })
  const before = (await ask('/v1/sessions/s1', { headers: acme })).body

  expect((await ask('/v1/sessions/s1', { headers: evil })).status).toBe(404)
  expect((await ask('/v1/sessions/s1/updates?since=0&incarnation=i1', { headers: evil })).status).toBe(404)
  expect((await ask('/v1/sessions', { headers: evil })).body).toMatchObject({ items: [], head: 0, account: 'evil' })
  const attempts: [string, Asked][] = [
    ['/v1/sessions/s1', { method: 'PUT', headers: { 'if-match': created.body.etag }, body: put('w2', snapshot(2)) }],
    ['/v1/sessions/s1', { method: 'PUT', headers: { 'if-match': created.body.etag }, body: put('w1', snapshot(1)) }],
    [
      '/v1/sessions/s1/claims/t1',
      { method: 'PUT', body: { op: 'release', incarnation: 'i1', claimId: 'c1', attempt: 0 } },
    ],
    [
      '/v1/sessions/s1/claims/t1',
      {
        method: 'PUT',
        body: {
          op: 'claim',
          incarnation: 'i1',
          claimId: 'c1',
          want: 'approving',
          confirmation: confirmation('t1'),
          leftIn: null,
        },
      },
    ],
    ['/v1/sessions/s1/turn', { method: 'PUT', body: { op: 'take', incarnation: 'i1', turnId: 't', leaseMs: 99 } }],
    ['/v1/sessions/s1/updates', { method: 'POST', body: { incarnation: 'i1', updates: [update] } }],
    ['/v1/sessions/s1?incarnation=i1', { method: 'DELETE' }],
  ]
  for (const [path, attempt] of attempts) {
    const answer = await ask(path, { ...attempt, headers: { ...attempt.headers, ...evil } })
    expect(JSON.stringify(answer.body)).not.toContain(created.body.etag.slice(1, -1))
    expect(answer.body.account).toBe('evil')
  }
  expect((await ask('/v1/sessions/s1', { headers: acme })).body).toEqual(before)
})

test('K9 who loses a claim is told the label, person and age of who holds it: the person is that of the access token', async () => {
  const as = async (sub: string, device: string) => ({
    ...bearer(await token({ account: 'firm', sub })),
    'rejoin-device': device,
    'rejoin-device-label': device.toUpperCase(),
  })
  const ann = await as('ann', 'laptop')
  const asked = put('w1', snapshot(1, { confirmations: [confirmation('t1')] }))
  await ask('/v1/sessions/s1', { method: 'PUT', headers: { ...ann, 'if-none-match': '*' }, body: asked })
  const click = { op: 'claim', incarnation: 'i1', want: 'approving', confirmation: confirmation('t1'), leftIn: null }
  const claim = (headers: Record<string, string>, body: object) =>
    ask('/v1/sessions/s1/claims/t1', { method: 'PUT', headers, body: { ...click, ...body } })
  const holder = { label: 'LAPTOP', device: 'laptop', sub: 'ann', at: NOW }
  expect(await claim(ann, { claimId: 'c1', sub: 'bob' })).toMatchObject({ status: 200, body: { claim: holder } })
  const lost = { status: 409, body: { result: 'lost', claim: holder } }
  expect(await claim(await as('bob', 'phone'), { claimId: 'c2' })).toMatchObject(lost)
})

test('a socket names its token as a subprotocol, and is answered with ours', async () => {
  const acme = await token({ account: 'acme', sub: 'ann' })
  const room = await joinRoom(url, 'room1@i1', { protocols: ['rejoin.v1', `bearer.${acme}`] })
  expect(room.socket.protocol).toBe('rejoin.v1')
  const evil = await token({ account: 'evil', sub: 'eve' })
  const other = await joinRoom(url, 'room1@i1', { protocols: ['rejoin.v1', `bearer.${evil}`] })
  room.send(encodeUpdate(craftUpdate({ clients: text(7, 0, 'secret') })))
  room.signal({ kind: 'mark', n: 1 })
  await room.nextSignal('marked')
  other.signal({ kind: 'hello', version: 1, device: 'e', since: 0 })
  expect((await other.nextSignal('changed')).head).toBe(0)
  expect(other.frames.some(isUpdate)).toBe(false)
  room.close()
  other.close()
})

test('a socket without a token, or with one in the URL, is refused before the upgrade', async () => {
  const acme = await token({ account: 'acme', sub: 'ann' })
  await expect(joinRoom(url, 's1')).rejects.toMatchObject({ status: 401 })
  await expect(joinRoom(url, 's1', { protocols: ['rejoin.v1', 'bearer.nonsense'] })).rejects.toMatchObject({
    status: 401,
  })
  await expect(joinRoom(url, `s1?token=${acme}`)).rejects.toMatchObject({ status: 400 })
})

test('a socket is opened from our own page, an allowed origin, or by no browser; from nowhere else', async () => {
  const protocols = ['rejoin.v1', `bearer.${await token({ account: 'acme', sub: 'ann' })}`]
  for (const origin of [undefined, url, 'https://app.example']) {
    const room = await joinRoom(url, 's1', { protocols, ...(origin !== undefined && { origin }) })
    room.close()
  }
  for (const origin of ['https://evil.example', 'null', 'https://app.example.evil.example', 'http://app.example']) {
    await expect(joinRoom(url, 's1', { protocols, origin })).rejects.toMatchObject({ status: 403 })
  }
})

test('a page of an allowed origin may read the answers, another may not', async () => {
  const preflight = { method: 'OPTIONS' as never, headers: { 'access-control-request-method': 'PUT' } }
  const asked = (origin: string) => ({ ...preflight, headers: { ...preflight.headers, origin } })
  const allowed = await ask('/v1/sessions/s1', asked('https://app.example'))
  expect(allowed.header('access-control-allow-origin')).toBe('https://app.example')
  expect(allowed.header('access-control-allow-headers')).toContain('rejoin-device')
  const foreign = await ask('/v1/sessions/s1', asked('https://evil.example'))
  expect(foreign.header('access-control-allow-origin')).toBeUndefined()
})

test('without authentication it answers to loopback names only: another name is a page that points here', async () => {
  const open = await createServer({})
  const asked = (host: string) => askByInjection(open)('/v1/sessions', { headers: { host } })
  for (const host of ['127.0.0.1:8787', 'localhost', 'localhost:8787', '[::1]:8787', 'laptop.localhost:8787']) {
    expect((await asked(host)).status).toBe(200)
  }
  for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:8787', '10.0.0.1']) {
    expect(await asked(host)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  }
  await open.close()
})

test('without authentication it does not listen on another address, and a short secret is no secret', async () => {
  await expect(createServer({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'refused' })
  await expect(createServer({ host: '::' })).rejects.toMatchObject({ code: 'refused' })
  await expect(createServer({ jwtSecret: 'short' })).rejects.toMatchObject({ code: 'refused' })
})
