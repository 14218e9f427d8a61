import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { findRunning } from '../demo/server/running-demo.mjs'

// Builds the demo and its server, then runs them until Ctrl-C. `PORT` asks for another port than 8787, `DATA` for another
// folder than `.data`.

const DEFAULT_PORT = 8787
const HOST = '127.0.0.1'
const root = fileURLToPath(new URL('..', import.meta.url))
const server = path.join(root, 'demo/server/dist/server.js')

const wanted = readPort(process.env.PORT)
const data = path.resolve(process.env.DATA || path.join(root, '.data'))
const running = await findRunning(data)
if (running) {
  console.error(`The demo already runs on this data, at ${running.url} (process ${running.pid}).`)
  console.error('Open it there, stop it with Ctrl-C where it was started, or run one beside it on other data:')
  console.error('  DATA=.data-2 npm start')
  process.exit(1)
}
let child
let stopping = false
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    stopping = true
    // From a terminal Ctrl-C has reached the child too; one more signal does no harm, it stops once.
    if (child) child.kill('SIGTERM')
    else process.exit(0)
  })
}

for (const [name, configFile] of [
  ['page', 'demo/vite.config.ts'],
  ['server', 'demo/vite.server.config.ts'],
]) {
  const start = performance.now()
  await build({ configFile: path.join(root, configFile), logLevel: 'error' })
  console.log(`Built the ${name} in ${((performance.now() - start) / 1000).toFixed(1)} s.`)
}

const port = await freePort(wanted)
child = spawn(process.execPath, [server], {
  stdio: 'inherit',
  env: { ...process.env, PORT: String(port), DATA: data },
})
child.on('exit', (code) => {
  if (stopping) console.log('Stopped.')
  process.exit(stopping ? 0 : (code ?? 1))
})

function readPort(text) {
  if (text === undefined || text === '') return DEFAULT_PORT
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  console.error(`PORT is "${text}", which is not a port: give a number from 0 to 65535.`)
  process.exit(1)
}

/** The port that was asked for, or another one if somebody has it. */
async function freePort(wanted) {
  const port = (await tryPort(wanted)) ?? (await tryPort(0))
  if (port === undefined) {
    console.error('No port is free on this machine.')
    process.exit(1)
  }
  if (wanted !== 0 && port !== wanted) console.log(`Port ${wanted} is taken, so the demo takes ${port}.`)
  return port
}

function tryPort(port) {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(undefined))
    probe.listen(port, HOST, () => {
      const taken = probe.address().port
      probe.close(() => resolve(taken))
    })
  })
}
