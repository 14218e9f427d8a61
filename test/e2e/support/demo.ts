import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { browser } from './browser.ts'
import { type ServerProcess, startProcess } from './server-process.ts'

/** The demo as people start it: its server, and its page in a profile of its own. */
export interface Demo {
  readonly server: ServerProcess
  readonly page: Page
  readonly laptop: DemoDevice
  readonly phone: DemoDevice
  readonly refundCount: () => Promise<string | null>
  /** What the console called an error, apart from requests that had an answer. */
  readonly complaints: readonly string[]
}

/** One device of the page: what a person finds on it, by `data-testid`. */
export interface DemoDevice {
  readonly find: (testId: string) => Locator
  readonly click: (testId: string) => Promise<void>
  readonly send: (text: string) => Promise<void>
  readonly words: () => Promise<readonly string[]>
  /** Of each card its state and its text. */
  readonly cards: () => Promise<readonly string[]>
  readonly status: () => Promise<string | null>
}

export async function openDemo(query = '', options: BrowserContextOptions = {}): Promise<Demo> {
  const server = await startProcess({
    script: 'demo/server/dist/server.js',
    env: ({ port, folder }) => ({ PORT: String(port), DATA: folder }),
  })
  const context = await (await browser()).newContext(options)
  onTestFinished(() => context.close())
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      complaints.push(message.text())
    }
  })
  await page.goto(`${server.url}/${query}`)
  await page.getByTestId('send-input').last().waitFor()
  return {
    server,
    page,
    laptop: device(page, 'device-laptop'),
    phone: device(page, 'device-phone'),
    refundCount: () => page.getByTestId('refund-count').textContent(),
    complaints,
  }
}

function device(page: Page, testId: string): DemoDevice {
  const root = page.getByTestId(testId)
  return {
    find: (inner) => root.getByTestId(inner),
    click: (inner) => root.getByTestId(inner).click(),
    send: async (text) => {
      await root.getByTestId('send-input').fill(text)
      await root.getByTestId('send').click()
    },
    words: () => root.getByTestId('message-text').allInnerTexts(),
    cards: () =>
      root.getByTestId('confirmation-card').evaluateAll((all) =>
        all.map((card) => {
          const text = card.querySelector('[data-testid="card-text"]')?.textContent ?? ''
          return `${card.getAttribute('data-state')}: ${text}`
        }),
      ),
    status: () => root.getByTestId('status').getAttribute('data-state'),
  }
}
