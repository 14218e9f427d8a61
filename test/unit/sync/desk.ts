import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createChatController } from '@agentskit/core'
import { type ConnectedChat, commandRoute, connectChat, defineChat, type Rejoin } from 'rejoin'
import { restoreSqlite, startServer } from 'rejoin-server'
import { expect, vi } from 'vitest'

export const SESSION = 'order-1'

/** A server whose data file can be put back, always at the same address. */
export interface TestServer {
  readonly url: string
  readonly file: string
  readonly stop: () => Promise<void>
  readonly start: () => Promise<void>
  /** Stops, copies the data file, and starts again. */
  readonly backUp: () => Promise<void>
  /** Stops, puts the copy back as an operator does, and starts again. */
  readonly restore: () => Promise<void>
  readonly end: () => Promise<void>
}

export async function createTestServer({ jwtSecret }: { jwtSecret?: string } = {}): Promise<TestServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'rejoin-'))
  const file = path.join(folder, 'data.sqlite')
  const backup = path.join(folder, 'backup.sqlite')
  const options = { file, account: 'test', requestsPerMinute: 1_000_000, ...(jwtSecret !== undefined && { jwtSecret }) }
  let running = await startServer({ ...options, port: 0 })
  const { url } = running
  const stop = () => running.close()
  const start = async () => {
    running = await startServer({ ...options, port: Number(new URL(url).port) })
  }
  return {
    url,
    file,
    stop,
    start,
    async backUp() {
      await stop()
      await copyFile(file, backup)
      await start()
    },
    async restore() {
      await stop()
      await restoreSqlite({ backup, file })
      await start()
    },
    async end() {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export interface Refunds {
  /** Who ran which refund, by its `id`; the only truth for "ran once". */
  readonly ran: Map<string, string[]>
  /** Called while the refund runs. */
  readonly during: () => Promise<unknown>
}

/** A chat with a deterministic flow of two steps and a refund that a person confirms. */
export function deskChat(
  rejoin: Rejoin,
  by: string,
  refunds: Refunds,
  { sessionId = SESSION, answer = [`Hello from ${by}. `, 'Bye.'] }: { sessionId?: string; answer?: string[] } = {},
): Promise<ConnectedChat> {
  return connectChat({
    rejoin,
    sessionId,
    createController: createChatController,
    definition: defineChat({
      id: 'desk',
      chat: {
        adapter: {
          createSource: () => ({
            async *stream() {
              for (const content of answer) yield { type: 'text', content }
              yield { type: 'done' }
            },
            abort() {},
          }),
        },
        tools: [
          {
            name: 'refund',
            requiresConfirmation: true,
            execute: async (args: Record<string, unknown>) => {
              const { id } = args as { id: string }
              refunds.ran.set(id, [...(refunds.ran.get(id) ?? []), by])
              await refunds.during()
              return 'refunded'
            },
          },
        ],
      },
      conversation: {
        initial: 'idle',
        states: { idle: { on: { start: 'active' } }, active: { on: { stop: 'idle' } } },
        routes: [
          commandRoute({ id: 'start', event: 'start', command: '/start', response: () => 'started' }),
          commandRoute({ id: 'stop', event: 'stop', command: '/stop', response: () => 'stopped' }),
        ],
      },
    }),
  })
}

export const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 10_000, interval: 20 })

export const texts = (rejoin: Rejoin, sessionId = SESSION) =>
  rejoin
    .messages(sessionId)
    .get()
    .map((message) => message.content)

export async function say(chat: ConnectedChat, text: string): Promise<void> {
  await chat.controller.send(text)
  await eventually(() => expect(chat.controller.getState().status).not.toBe('streaming'))
  await chat.session.persist()
}

export async function synced(rejoin: Rejoin, sessionId = SESSION): Promise<void> {
  await rejoin.messages(sessionId).whenStored()
  await eventually(() => expect(rejoin.status.get()).toMatchObject({ state: 'synced' }))
}

/** What both show of the confirmations, by the `id` of their input. */
export const statuses = (chat: ConnectedChat) =>
  Object.fromEntries(chat.session.getConfirmations().map(({ input, status }) => [(input as { id: string }).id, status]))
