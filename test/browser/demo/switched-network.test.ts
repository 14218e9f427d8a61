import { browserEnvironment } from 'rejoin'
import { expect, test } from 'vitest'
import { createSwitchedNetwork } from '../../../demo/src/switched-network.ts'

/** A socket that opens when the test says so. */
class FakeSocket extends EventTarget {
  static readonly made: FakeSocket[] = []
  readyState = 0
  binaryType = 'blob'
  readonly sent: unknown[] = []
  closed = false
  readonly protocols: string[] | undefined
  constructor(_url: string, protocols?: string[]) {
    super()
    this.protocols = protocols
    FakeSocket.made.push(this)
  }
  send(data: unknown) {
    this.sent.push(data)
  }
  close() {
    this.closed = true
  }
  open() {
    this.readyState = 1
    this.dispatchEvent(new Event('open'))
  }
}

function network(startsOn?: boolean) {
  const pending: AbortSignal[] = []
  const neverAnswers: typeof fetch = (_input, init) => {
    if (init?.signal) pending.push(init.signal)
    return new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
  }
  return createSwitchedNetwork(
    {
      fetch: neverAnswers,
      WebSocket: FakeSocket as unknown as typeof WebSocket,
      lifecycle: browserEnvironment().lifecycle,
    },
    startsOn,
  )
}

test('F50 switching off rejects what is under way and what comes after, as a lost network does', async () => {
  const { environment, turn } = network()
  const underWay = environment.fetch('/x')
  turn(false)
  await expect(underWay).rejects.toThrow(TypeError)
  await expect(environment.fetch('/x')).rejects.toThrow(TypeError)
})

test('F50 an open socket is cut at once with the code of a lost connection, and nothing arrives afterwards', () => {
  const { environment, turn } = network()
  const socket = new environment.WebSocket('ws://x', ['rejoin.v1'])
  const events: unknown[] = []
  socket.onopen = () => events.push('open')
  socket.onmessage = ({ data }) => events.push(data)
  socket.onclose = ({ code, wasClean }) => events.push([code, wasClean])
  const real = FakeSocket.made.at(-1)
  real?.open()
  expect(socket.readyState).toBe(socket.OPEN)
  real?.dispatchEvent(new MessageEvent('message', { data: 'hello' }))
  socket.send('sent')
  turn(false)
  real?.dispatchEvent(new MessageEvent('message', { data: 'late' }))
  socket.send('lost')
  expect(events).toEqual(['open', 'hello', [1006, false]])
  expect(real).toMatchObject({ protocols: ['rejoin.v1'], sent: ['sent'], closed: true })
  expect(socket.readyState).toBe(WebSocket.CLOSED)
})

test('while it is off a new socket is refused after its owner could listen, and no real one is made', async () => {
  const { environment } = network(false)
  const before = FakeSocket.made.length
  const socket = new environment.WebSocket('ws://x')
  expect(socket.readyState).toBe(WebSocket.CONNECTING)
  const code = await new Promise((resolve) => socket.addEventListener('close', (event) => resolve(event.code)))
  expect(code).toBe(1006)
  expect(FakeSocket.made).toHaveLength(before)
})

test('the device hears that its network went and came, once each', () => {
  const { environment, turn } = network()
  const heard: string[] = []
  const stop = environment.lifecycle.on('offline', () => heard.push('offline'))
  environment.lifecycle.on('online', () => heard.push('online'))
  turn(false)
  turn(false)
  expect(environment.lifecycle.online()).toBe(false)
  turn(true)
  stop()
  turn(false)
  expect(heard).toEqual(['offline', 'online'])
})
