import { once } from 'node:events'
import { createServer, connect as dial, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A network cable between one device and the server, that can be pulled, blocked, slowed, or made to lose an answer. */
export interface FaultProxy {
  /** What the device takes for the server. */
  readonly url: string
  /** Ends every connection and refuses new ones. */
  readonly cut: () => void
  /** Connections stay and new ones are accepted, but nothing passes, in either direction. */
  readonly blackhole: () => void
  /** What the server says is passed on so many ms later. */
  readonly delay: (ms: number) => void
  /**
   * The next request whose first line matches reaches the server, and its answer does not come back: the cable is cut
   * instead. Resolves when the server's answer has arrived here, so that whatever it did is done.
   */
  readonly loseAnswer: (request: RegExp) => Promise<void>
  /** Everything passes again. What was blocked before is lost. */
  readonly heal: () => void
}

const FIRST_LINE = /^[A-Z]+ \S+ HTTP\/1\.1\r\n/

/** Lies before a server for the rest of the test. */
export async function openFaultProxy(serverPort: number): Promise<FaultProxy> {
  const links = new Set<Link>()
  let state: 'open' | 'cut' | 'blocked' = 'open'
  let delayMs = 0
  let losing: { readonly request: RegExp; readonly arrived: () => void } | undefined

  const proxy = createServer((client) => {
    if (state === 'cut') client.destroy()
    else links.add(link(client))
  })

  function link(client: Socket): Link {
    const server = dial(serverPort, '127.0.0.1')
    let losesNext: (() => void) | undefined
    const pair: Link = {
      end: () => {
        links.delete(pair)
        client.destroy()
        server.destroy()
      },
    }
    client.on('data', (bytes) => {
      if (state !== 'open') return
      // A browser does not pipeline: a request starts where a chunk does.
      const line = FIRST_LINE.exec(bytes.toString('latin1', 0, 2048))?.[0]
      if (line && losing?.request.test(line)) {
        losesNext = losing.arrived
        losing = undefined
      }
      server.write(bytes)
    })
    server.on('data', (bytes) => {
      if (losesNext) {
        cut()
        losesNext()
      } else if (state === 'open') {
        if (delayMs === 0) client.write(bytes)
        else setTimeout(() => !client.destroyed && client.write(bytes), delayMs)
      }
    })
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', pair.end)
    }
    return pair
  }

  function cut(): void {
    state = 'cut'
    for (const each of [...links]) each.end()
  }

  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const address = proxy.address()
  onTestFinished(() => {
    cut()
    proxy.close()
  })
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    cut,
    blackhole: () => {
      state = 'blocked'
    },
    delay: (ms) => {
      delayMs = ms
    },
    loseAnswer: (request) =>
      new Promise((resolve) => {
        losing = { request, arrived: resolve }
      }),
    heal: () => {
      if (state === 'blocked') cut()
      state = 'open'
      delayMs = 0
    },
  }
}

interface Link {
  readonly end: () => void
}
