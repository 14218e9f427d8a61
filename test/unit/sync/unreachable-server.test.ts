import { afterEach, expect, test } from 'vitest'
import { eventually } from './desk.ts'
import { createTestDevice, type TestDevice } from './device.ts'

let laptop: TestDevice

afterEach(async () => {
  await laptop.close()
})

/** Two tabs whose channel delivers as a browser's does: later, and to the other tab alone. */
async function openTwoTabs(): Promise<{ readonly feedRequests: () => number }> {
  laptop = createTestDevice('laptop', 'http://127.0.0.1:9')
  let feedRequests = 0
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
    // Waits as long as the back-off does at most.
    random: () => 1,
    async fetch(input: Parameters<typeof fetch>[0]): Promise<Response> {
      if (String(input).includes('since=')) feedRequests++
      throw new TypeError('connection refused')
    },
  }
  const [sending, other] = [await laptop.open({ environment }), await laptop.open({ environment })]
  for (const tab of [sending, other]) await eventually(() => expect(tab.status.get().state).toBe('offline'))
  return { feedRequests: () => feedRequests }
}

test('F40 two tabs without a server try again at the pace of the back-off, not at that of their own messages', async () => {
  const { feedRequests } = await openTwoTabs()
  await new Promise((resolve) => setTimeout(resolve, 2200))
  // One at the start, one by a tab that saw the refusal itself, and the back-off's at 0.5 s and 1.5 s.
  expect(feedRequests()).toBeLessThanOrEqual(6)
})
