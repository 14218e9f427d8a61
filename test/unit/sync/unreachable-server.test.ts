import { afterEach, expect, test } from 'vitest'
import { eventually } from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let laptop: TestDevice

afterEach(async () => {
  await laptop.close()
})

/** Two tabs whose channel delivers as a browser's does: later, and to the other tab alone. */
async function openTwoTabs(): Promise<{ readonly feedRequests: () => number; readonly ended: ReadonlySet<number> }> {
  laptop = createTestDevice('laptop', 'http://127.0.0.1:9')
  let feedRequests = 0
  /** The waits that came to their end, ms. */
  const ended = new Set<number>()
  const environment = {
    ...laptop.environment,
    openChannel(name: string) {
      const channel = new BroadcastChannel(name)
      return {
        post: (message: unknown) => channel.postMessage(message),
        listen(listener: (message: unknown) => void) {
          channel.onmessage = (event) => listener((event as MessageEvent).data)
        },
        close: () => channel.close(),
      }
    },
    // The back-off waits 250 ms, 500 ms and so on.
    random: () => 0.5,
    timers: {
      ...laptop.environment.timers,
      setTimeout: (run: () => void, ms: number) =>
        setTimeout(() => {
          ended.add(ms)
          run()
        }, ms),
    },
    async fetch(input: Parameters<typeof fetch>[0]): Promise<Response> {
      if (String(input).includes('since=')) feedRequests++
      throw new TypeError('connection refused')
    },
  }
  const [sending, other] = [await laptop.open({ environment }), await laptop.open({ environment })]
  for (const tab of [sending, other]) await eventually(() => expect(tab.status.get().state).toBe('offline'))
  return { feedRequests: () => feedRequests, ended }
}

test('F40 two tabs without a server try again at the pace of the back-off, not at that of their own messages', async () => {
  const { feedRequests, ended } = await openTwoTabs()
  await eventually(() => expect(ended).toContain(1000))
  // One at the start, one for a tab that saw the refusal itself, and those that the back-off made.
  expect(feedRequests()).toBeLessThanOrEqual(6)
})
