import { createServer, type RejoinServer } from 'rejoin-server'
import { afterAll, expect, test } from 'vitest'
import { askByInjection, askBySocket } from './ask.ts'
import { httpSuite } from './http-suite.ts'

const started: RejoinServer[] = []
const newServer = async () => {
  const server = await createServer({ account: 'acme', port: 0 })
  started.push(server)
  return server
}

afterAll(async () => {
  await Promise.all(started.map((server) => server.close()))
})

httpSuite(test, 'inject', async (run) => {
  await run(askByInjection(await newServer()))
})

httpSuite(test, 'socket', async (run) => {
  const server = await newServer()
  await run(askBySocket(await server.listen()))
})

test('more requests of one address than allowed are rate-limited, and the next minute goes on', async () => {
  const server = await createServer({ account: 'acme', requestsPerMinute: 3 })
  const ask = askByInjection(server)
  const answers = []
  for (let at = 0; at < 5; at++) answers.push(await ask('/v1/sessions'))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429])
  expect(answers[3]?.body).toMatchObject({ code: 'rate-limited', retryable: true })
  expect(Number(answers[3]?.header('retry-after'))).toBeGreaterThan(0)
  await server.close()
})

test('routes of the host are served beside the resources', async () => {
  const server = await createServer({
    extend: (app) => {
      app.get('/counter', async () => ({ refunds: 1 }))
    },
  })
  const ask = askByInjection(server)
  expect((await ask('/counter')).body).toEqual({ refunds: 1 })
  expect((await ask('/v1/sessions')).body).toMatchObject({ account: 'local' })
  await server.close()
})
