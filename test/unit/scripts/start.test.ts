import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findRunning, noteRunning } from '../../../demo/server/running-demo.mjs'

let folder: string
let url: string
const answering = createServer((_request, response) => response.end('{}'))

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'rejoin-start-'))
  answering.listen(0, '127.0.0.1')
  await once(answering, 'listening')
  url = `http://127.0.0.1:${(answering.address() as AddressInfo).port}`
})
afterEach(() => {
  answering.close()
  answering.closeAllConnections()
  rmSync(folder, { recursive: true, force: true })
})

test('a second npm start on the same data says where the first one is, before it builds anything', async () => {
  await noteRunning(folder, url)
  const child = spawn(process.execPath, ['scripts/start.mjs'], { env: { ...process.env, DATA: folder } })
  const [output, problem, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  expect(code).toBe(1)
  expect(output).toBe('')
  expect(problem).toContain(`already runs on this data, at ${url}`)
  expect(problem).toContain('DATA=.data-2 npm start')
})

test('the note of a demo that runs leads to it, and is gone when the demo is', async () => {
  const remove = await noteRunning(folder, url)
  expect(await findRunning(folder)).toEqual({ pid: process.pid, url })
  await remove()
  expect(existsSync(path.join(folder, 'running.json'))).toBe(false)
  expect(await findRunning(folder)).toBeUndefined()
})

test.each([
  ['of a process that is gone', () => JSON.stringify({ pid: 2 ** 30, url })],
  ['of a server that does not answer', () => JSON.stringify({ pid: process.pid, url: 'http://127.0.0.1:1' })],
  ['that was cut off while it was written', () => '{"pid":'],
])('a note %s counts for nothing', async (_, note) => {
  writeFileSync(path.join(folder, 'running.json'), note())
  expect(await findRunning(folder)).toBeUndefined()
})
