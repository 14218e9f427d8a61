import type { BrowserContext } from 'playwright-core'

export interface Effect {
  readonly refundId: string
  /** The label of the device that ran it. */
  readonly device: string
}

/**
 * The world outside of the chat: it keeps every refund that was run, each run an entry of its own. Devices reach it by a
 * line of the test's own and not by their network, so that it counts what they run offline, too.
 */
export interface EffectCounter {
  readonly effects: () => readonly Effect[]
  readonly count: (refundId: string) => number
  /** Until it is called, refunds are counted at once and their answer does not come. */
  readonly hold: () => { readonly release: () => void }
  readonly connect: (context: BrowserContext) => Promise<void>
}

declare global {
  interface Window {
    /** Runs a refund; there in every page of a connected device. */
    readonly runEffect: (effect: Effect) => Promise<void>
  }
}

export function createEffectCounter(): EffectCounter {
  const effects: Effect[] = []
  let held: Promise<void> | undefined
  return {
    effects: () => effects,
    count: (refundId) => effects.filter((each) => each.refundId === refundId).length,
    hold: () => {
      let release = () => {}
      held = new Promise((resolve) => {
        release = () => {
          held = undefined
          resolve()
        }
      })
      return { release: () => release() }
    },
    connect: async (context) => {
      await context.exposeFunction('runEffect', async (effect: Effect) => {
        effects.push(effect)
        await held
      })
    },
  }
}
