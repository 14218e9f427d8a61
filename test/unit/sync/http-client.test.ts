import { expect, test } from 'vitest'
import type { AccessToken } from '../../../src/sync/access-token.ts'
import { createHttpClient } from '../../../src/sync/http-client.ts'

const common = { server: 'rejoin', account: 'acme', epoch: '1-a', time: 1 }
const timers = {
  setTimeout: (run: () => void, ms: number) => setTimeout(run, ms),
  clearTimeout: (id: unknown) => clearTimeout(id as NodeJS.Timeout),
  frame: (run: () => void) => setTimeout(run, 1),
  cancelFrame: (id: unknown) => clearTimeout(id as NodeJS.Timeout),
}

function clientOf(respond: () => Response, token?: AccessToken, lifetime = new AbortController()) {
  let asked = 0
  const client = createHttpClient({
    fetch: async () => {
      asked++
      return respond()
    },
    timers,
    serverUrl: 'http://127.0.0.1:1',
    token,
    device: 'laptop',
    label: 'Laptop',
    signal: lifetime.signal,
  })
  return { client, lifetime, asked: () => asked }
}

const json = (status: number, body: unknown) => () => new Response(JSON.stringify(body), { status })

test.each([
  ['403 of a proxy', json(403, { error: 'blocked' })],
  ['200 of a captive portal', json(200, {})],
  ['429 of a gateway', json(429, { message: 'slow down' })],
  ['404 with the body of an answer', json(404, { ...common, incarnation: 'i1' })],
  ['200 that is no JSON', () => new Response('<html>')],
  ['200 without a body', () => new Response(null)],
])('G8 F50 a deletion is not told by anything but its answer: %s', async (_name, respond) => {
  const { client } = clientOf(respond)
  expect(await client.deleteSession('s1', 'i1')).toMatchObject({ kind: 'unreachable' })
})

test('G8 the answer to a deletion says who answers, and which incarnation is over', async () => {
  const body = { ...common, incarnation: 'i1' }
  expect(await clientOf(json(200, body)).client.deleteSession('s1', 'i1')).toEqual({
    kind: 'answer',
    status: 200,
    body,
  })
})

test('F62 an answer of more than 16 MiB is not read to its end', async () => {
  let pulled = 0
  const endless = () =>
    new Response(
      new ReadableStream({
        pull(controller) {
          pulled++
          controller.enqueue(new Uint8Array(1024 * 1024).fill(32))
        },
      }),
    )
  const { client } = clientOf(endless)
  expect(await client.feed(0)).toMatchObject({ kind: 'unreachable', reason: 'the answer is too large' })
  expect(pulled).toBeLessThan(20)
})

test('F63 whoever cancels does not wait for an access token that never comes, and asks no server', async () => {
  const { client, asked } = clientOf(json(200, {}), () => new Promise(() => {}))
  const cancel = new AbortController()
  const reply = client.getSession('s1', cancel.signal)
  cancel.abort()
  expect(await reply).toMatchObject({ kind: 'unreachable', cancelled: true })
  expect(asked()).toBe(0)
})

test('F63 a Rejoin that is closed does not wait for an access token either', async () => {
  const { client, lifetime } = clientOf(json(200, {}), () => new Promise(() => {}))
  const reply = client.feed(0)
  lifetime.abort()
  expect(await reply).toMatchObject({ kind: 'unreachable', cancelled: true })
})
