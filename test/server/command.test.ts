import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer as createNetServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { bytesToBase64 } from '../../src/protocol/base64.ts'
import { readCommandLine } from '../../sync-server/src/command-line.ts'
import { type Ask, askBySocket } from './ask.ts'
import { craftUpdate, text } from './crafted-update.ts'
import { joinRoom } from './room-client.ts'
import { buildServer, runProcess, type ServerProcess, startProcess } from './server-process.ts'
import { confirmation, put, snapshot } from './sessions.ts'

let folder = ''
const running: ServerProcess[] = []

beforeAll(async () => {
  await buildServer()
  folder = await mkdtemp(path.join(tmpdir(), 'rejoin-command-'))
}, 60_000)
afterAll(async () => {
  await Promise.all(running.map((server) => server.end('SIGKILL').catch(() => {})))
  await rm(folder, { recursive: true, force: true })
})

let folders = 0
const newFolder = () => path.join(folder, `${folders++}`)

async function start(data: string, args: readonly string[] = [], env: Record<string, string> = {}) {
  const server = await startProcess(['--port', '0', '--data', data, ...args], env)
  running.push(server)
  return server
}

async function end(server: ServerProcess, signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT') {
  running.splice(running.indexOf(server), 1)
  return server.end(signal)
}

const putSession = (ask: Ask, id: string, cursor: number, ifMatch?: string) =>
  ask(`/v1/sessions/${id}`, {
    method: 'PUT',
    headers: ifMatch === undefined ? { 'if-none-match': '*' } : { 'if-match': ifMatch },
    body: put(`w${cursor}`, snapshot(cursor, { sessionId: id })),
  })

test('it prints one line with its address, and stops cleanly', { timeout: 30_000 }, async () => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    const server = await start(newFolder())
    const room = await joinRoom(server.url, 's1@i1')
    expect(await end(server, signal)).toBe(0)
    expect(await room.closed).toBe(1012)
    const lines = server.output().replace(/^.*ExperimentalWarning.*\n.*trace-warnings.*\n/m, '')
    expect(lines).toMatch(/^rejoin-server listening on http:\/\/127\.0\.0\.1:\d+\n$/)
  }
})

test('G4 E2E 8 kill -9 in the middle of writes: every acknowledged one is there', { timeout: 60_000 }, async () => {
  const data = newFolder()
  const server = await start(data)
  const ask = askBySocket(server.url)
  const acknowledged = new Map<string, { cursor: number; head: number }>()
  let stop = false
  const writers = Array.from({ length: 16 }, async (_, at) => {
    const id = `s${at}`
    let etag: string | undefined
    for (let cursor = 1; !stop; cursor++) {
      const stored = await putSession(ask, id, cursor, etag)
      etag = stored.body.etag
      acknowledged.set(id, { cursor, head: cursor - 1 })
      const updates = [bytesToBase64(craftUpdate({ clients: text(7, cursor - 1, 'x') }))]
      await ask(`/v1/sessions/${id}/updates`, { method: 'POST', body: { incarnation: 'i1', updates } })
      acknowledged.set(id, { cursor, head: cursor })
      if ([...acknowledged.values()].reduce((sum, each) => sum + each.cursor, 0) > 200) stop = true
    }
  })
  const ends = Promise.allSettled(writers)
  await new Promise<void>((resolve) => {
    const look = setInterval(() => {
      if (!stop) return
      clearInterval(look)
      resolve()
    })
  })
  await end(server, 'SIGKILL')
  await ends
  const again = askBySocket((await start(data)).url)
  for (const [id, { cursor, head }] of acknowledged) {
    const { body } = await again(`/v1/sessions/${id}`)
    expect(body.snapshot.cursor).toBeGreaterThanOrEqual(cursor)
    expect(body.head).toBeGreaterThanOrEqual(head)
  }
})

test('F2 E2E 5 a claim whose answer was lost in a kill -9 is told after the restart, to each side', {
  timeout: 30_000,
}, async () => {
  const data = newFolder()
  const server = await start(data)
  const claim = (url: string, device: string) =>
    askBySocket(url)('/v1/sessions/s1/claims/t1', {
      method: 'PUT',
      headers: { 'rejoin-device': device },
      body: {
        op: 'claim',
        incarnation: 'i1',
        claimId: `claim-${device}`,
        want: 'approving',
        confirmation: confirmation('t1'),
        leftIn: null,
      },
    })
  const first = await claim(server.url, 'a')
  await end(server, 'SIGKILL')
  const { url } = await start(data)
  expect((await claim(url, 'b')).body).toMatchObject({ result: 'lost', claim: first.body.claim })
  expect((await claim(url, 'a')).body).toMatchObject({
    result: 'won',
    epoch: first.body.epoch,
    claim: first.body.claim,
  })
})

test('F66 stopped in the middle of writes, it has answered or refused each, and keeps what it answered', {
  timeout: 60_000,
}, async () => {
  const data = newFolder()
  const server = await start(data)
  const ask = askBySocket(server.url)
  const answers = Array.from({ length: 300 }, (_, at) =>
    putSession(ask, `s${at}`, 1).then(
      ({ status }) => [at, status] as const,
      () => [at, 0] as const,
    ),
  )
  await answers[0]
  expect(await end(server, 'SIGTERM')).toBe(0)
  const stored = (await Promise.all(answers)).filter(([, status]) => status === 201)
  const again = askBySocket((await start(data)).url)
  for (const [at] of stored) expect((await again(`/v1/sessions/s${at}`)).status).toBe(200)
})

/** A connection by hand: what it sends and hears, byte for byte. */
async function connectRaw(url: string) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.on('data', (data) => {
    text += data.toString('latin1')
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => resolve())
  })
  await once(socket, 'connect')
  return { socket, closed, heard: () => text }
}

test('F66 told to stop, it ends what was begun, takes nothing new, and waits for nobody who is silent', {
  timeout: 30_000,
}, async () => {
  const data = newFolder()
  const server = await start(data)
  const { host } = new URL(server.url)
  const [silent, never, slow, kept, upgraded] = await Promise.all(
    Array.from({ length: 5 }, () => connectRaw(server.url)),
  )
  if (!silent || !never || !slow || !kept || !upgraded) throw new Error('no connection')
  const body = JSON.stringify(put('w1', snapshot(1)))
  const head = [
    'PUT /v1/sessions/s1 HTTP/1.1',
    `host: ${host}`,
    'rejoin-device: a',
    'if-none-match: *',
    'content-type: application/json',
    `content-length: ${body.length}`,
  ]
  for (const { socket } of [slow, never]) socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 10)}`)
  kept.socket.write(`GET /healthz HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
  // A peer that takes the close frame and never answers it.
  const key = 'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\n'
  upgraded.socket.write(
    `GET /v1/rooms/s1 HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade\r\nupgrade: websocket\r\n${key}\r\n`,
  )
  await vi.waitFor(() => {
    expect(kept.heard()).toContain('200 OK')
    expect(upgraded.heard()).toContain('101 Switching')
  })
  const ended = end(server, 'SIGTERM')
  await kept.closed
  await expect(connectRaw(server.url)).rejects.toThrow()
  slow.socket.write(body.slice(10))
  await slow.closed
  expect(slow.heard()).toContain('201 Created')
  await Promise.all([silent.closed, never.closed, upgraded.closed])
  expect(await ended).toBe(0)
  expect((await askBySocket((await start(data)).url)('/v1/sessions/s1')).body.snapshot).toMatchObject({ cursor: 1 })
})

test('an access token is in nothing that the server prints, counts or keeps', { timeout: 30_000 }, async () => {
  const data = newFolder()
  const secret = 'a secret that is thirty-two bytes long'
  const server = await start(data, [], { REJOIN_JWT_SECRET: secret })
  const ask = askBySocket(server.url)
  const sign = (claims: Record<string, unknown>) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret))
  const good = await sign({ account: 'acme', sub: 'ann', exp: Math.floor(Date.now() / 1000) + 600 })
  const old = await sign({ account: 'acme', sub: 'ann', exp: 1 })
  const headers = { authorization: `Bearer ${good}` }
  await ask('/v1/sessions', { headers })
  await ask('/v1/sessions', { headers: { authorization: `Bearer ${old}` } })
  await ask(`/v1/sessions?token=${good}`)
  await ask('/v1/sessions/s1', { method: 'PUT', headers, body: `{"token":"${good}"` })
  await joinRoom(server.url, `s1?token=${good}`).catch(() => {})
  await joinRoom(server.url, 's1', { protocols: ['rejoin.v1', `bearer.${old}`] }).catch(() => {})
  const room = await joinRoom(server.url, 's1', { protocols: ['rejoin.v1', `bearer.${good}`] })
  room.send('not a frame')
  await room.closed
  const { body } = await ask('/metrics')
  await end(server, 'SIGTERM')
  // Why, in the log of whoever runs it: which is not told at the other end.
  expect(server.output()).toContain('ERR_JWT_EXPIRED')
  const kept = readdirSync(data).map((file) => readFileSync(path.join(data, file), 'latin1'))
  for (const place of [server.output(), body, ...kept]) {
    for (const canary of [good, old, good.split('.')[2] ?? '', secret]) expect(place).not.toContain(canary)
  }
})

test('started before it was built, it says what to run', { timeout: 30_000 }, async () => {
  const clone = newFolder()
  await mkdir(path.join(clone, 'bin'), { recursive: true })
  await writeFile(path.join(clone, 'package.json'), '{"type":"module"}')
  const command = path.join(clone, 'bin', 'rejoin-server.js')
  await copyFile('sync-server/bin/rejoin-server.js', command)
  const { status, stdout, stderr } = spawnSync(process.execPath, [command], { encoding: 'utf8' })
  expect(status).toBe(1)
  expect(stdout).toBe('')
  expect(stderr).toBe('rejoin-server: It is not built yet.\nRun "npm ci && npm run build" in the repository first.\n')
})

test('a port that is taken is said, with the way out', { timeout: 30_000 }, async () => {
  const other = createNetServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as { port: number }
  const { code, output } = await runProcess(['--port', `${port}`, '--data', newFolder()])
  expect(code).toBe(1)
  expect(output).toContain(`rejoin-server: The port is taken.\n`)
  expect(output).toContain('--port 0')
  other.close()
})

test('another address than loopback is refused without authentication', { timeout: 30_000 }, async () => {
  const { code, output } = await runProcess(['--host', '0.0.0.0', '--data', newFolder()], { REJOIN_JWT_SECRET: '' })
  expect(code).toBe(1)
  expect(output).toContain('Without authentication')
  expect(output).toContain('--jwt-secret')
})

test('the command line says what is wrong with it, and what there is', async () => {
  expect(readCommandLine(['--help'], {}).kind).toBe('help')
  expect(readCommandLine(['--version'], {}).kind).toBe('version')
  for (const args of [
    ['--nonsense'],
    ['--port', 'x'],
    ['--port', '70000'],
    ['--rate-limit', '0'],
    ['--origin', 'app.example'],
    ['--origin', 'https://app.example/path'],
    ['positional'],
  ]) {
    expect(readCommandLine(args, {}).kind).toBe('wrong')
  }
  const { output } = await runProcess(['--version'])
  expect(output).toMatch(/^\d+\.\d+\.\d+/)
})

test('the command line becomes the options of the server', () => {
  const options = (args: readonly string[], environment = {}) => {
    const command = readCommandLine(args, environment)
    return command.kind === 'start' ? command.options : undefined
  }
  expect(options([])).toEqual({ file: path.join('.data', 'rejoin.sqlite'), origins: [], log: true })
  expect(options(['--data', 'notes.db'])?.file).toBe('notes.db')
  expect(options(['--data', '/var/lib/rejoin'])?.file).toBe('/var/lib/rejoin/rejoin.sqlite')
  expect(options([], { REJOIN_JWT_SECRET: 'from the environment' })?.jwtSecret).toBe('from the environment')
  const all = ['--port', '0', '--host', '::1', '--account', 'demo', '--name', 'home', '--rate-limit', '9']
  expect(options([...all, '--origin', 'https://a.example', '--origin', 'http://b.example:3000'])).toMatchObject({
    port: 0,
    host: '::1',
    account: 'demo',
    name: 'home',
    requestsPerMinute: 9,
    origins: ['https://a.example', 'http://b.example:3000'],
  })
})
