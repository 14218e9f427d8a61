/** The refunds that ran, as the server of the demo counts them: it stands for the world outside of the chat. */
export interface RefundCounter {
  /** `undefined` while the server has not answered. */
  readonly get: () => number | undefined
  readonly subscribe: (listener: () => void) => () => void
  /** Counts one more. Goes over the real network whatever a device's switch says. */
  readonly run: (refund: { readonly id: string; readonly device: string }) => Promise<void>
}

const POLL_MS = 1000
const URL_OF_REFUNDS = '/demo/refunds'

export function createRefundCounter(): RefundCounter {
  let count: number | undefined
  let timer: ReturnType<typeof setInterval> | undefined
  const listeners = new Set<() => void>()

  function show(next: number | undefined): void {
    if (next === count) return
    count = next
    for (const listener of [...listeners]) listener()
  }

  async function look(): Promise<void> {
    try {
      const answer = await fetch(URL_OF_REFUNDS)
      const body: unknown = await answer.json()
      show(countOf(body))
    } catch {
      // The server is away; the last number may be out of date, so none is shown.
      show(undefined)
    }
  }

  return {
    get: () => count,
    subscribe: (listener) => {
      listeners.add(listener)
      if (timer === undefined) {
        timer = setInterval(look, POLL_MS)
        void look()
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
    run: async (refund) => {
      const answer = await fetch(URL_OF_REFUNDS, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(refund),
      })
      if (!answer.ok) throw new Error(`The refund was refused (${answer.status}).`)
      await look()
    },
  }
}

function countOf(body: unknown): number | undefined {
  const count = typeof body === 'object' && body !== null ? (body as { count?: unknown }).count : undefined
  return typeof count === 'number' ? count : undefined
}
