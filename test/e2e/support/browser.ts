import { type Browser, chromium } from 'playwright-core'
import { inject } from 'vitest'

let connected: Promise<Browser> | undefined

/** The browser of the run. */
export function browser(): Promise<Browser> {
  connected ??= chromium.connect(inject('browserEndpoint'))
  return connected
}
