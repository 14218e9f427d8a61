import type { ChatMemory } from '../../../src/contract/chat-memory.ts'
import type { Message } from '../../../src/contract/chat-message.ts'
import type { Environment } from '../../../src/core/environment.ts'
import { createMessageStore, type MessageStore, type MessageStoreOptions } from '../../../src/messages/message-store.ts'
import type { Database } from '../../../src/storage/database.ts'
import { createMemoryChannels } from '../../../src/storage/memory-channel.ts'
import { openMemoryDatabase } from '../../../src/storage/memory-database.ts'
import { createMemoryDisk } from '../../../src/storage/memory-disk.ts'
import { createMemoryLocks } from '../../../src/storage/memory-locks.ts'
import { namesOf } from '../../../src/storage/names.ts'
import { createTestClock, type TestClock } from './test-clock.ts'

export interface Tab {
  readonly database: Database
  readonly store: MessageStore
  readonly problems: Error[]
  readonly memory: (sessionId?: string) => Required<ChatMemory>
  /** What a reader of this tab sees. */
  readonly texts: (sessionId?: string) => string[]
  /** Ends it as a crash does: what was not committed is gone, and its locks are free. */
  readonly crash: () => void
}

export interface TabOptions extends Partial<Pick<MessageStoreOptions, 'firstLoad'>> {
  /** Stands between the store and the database. */
  readonly wrap?: (database: Database) => Database
}

export interface Device {
  readonly clock: TestClock
  readonly openTab: (options?: TabOptions) => Promise<Tab>
}

let devices = 0

/** A device whose tabs share a disk, channels and locks. */
export function createDevice(): Device {
  const disk = createMemoryDisk()
  const openChannel = createMemoryChannels()
  const clock = createTestClock()
  const names = namesOf('acme', `messages-${++devices}`)
  const locks = createMemoryLocks()
  let ids = 0
  const label = `device-${devices}`

  return {
    clock,
    async openTab({ wrap = (database: Database) => database, firstLoad } = {}) {
      const lifetime = new AbortController()
      const held = new Set<() => void>()
      const environment = {
        locks: mortal(locks, held),
        openChannel,
        now: clock.now,
        newId: () => `${label}-${++ids}`,
        timers: clock.timers,
      } as unknown as Environment
      const real = await openMemoryDatabase({
        environment,
        names,
        identity: { account: 'acme', realm: 'default', label },
        disk,
      })
      const database = wrap(real)
      const problems: Error[] = []
      const store = createMessageStore({
        database,
        environment,
        names,
        signal: lifetime.signal,
        onProblem: (problem) => problems.push(problem),
        ...(firstLoad && { firstLoad }),
      })
      return {
        database,
        store,
        problems,
        memory: (sessionId = 's1') => store.memory(sessionId) as Required<ChatMemory>,
        texts: (sessionId = 's1') =>
          store
            .messages(sessionId)
            .get()
            .map(({ content }) => content),
        crash() {
          void real.close()
          lifetime.abort()
          for (const free of held) free()
        },
      }
    },
  }
}

/** Locks whose holds of one tab end with it. */
function mortal(locks: Environment['locks'], held: Set<() => void>): Environment['locks'] {
  return {
    isHeld: locks.isHeld,
    request: (name, options, hold) =>
      locks.request(name, options, (granted) => {
        const death = new Promise<never>((_, reject) => {
          held.add(() => reject(new Error('The tab died.')))
        })
        death.catch(() => {})
        return Promise.race([Promise.resolve(hold(granted)), death])
      }),
  }
}

let created = 0

export function message(id: string, content: string, rest: Partial<Message> = {}): Message {
  return {
    id,
    role: id.startsWith('u') ? 'user' : 'assistant',
    content,
    status: 'complete',
    createdAt: new Date(Date.UTC(2026, 0, 1) + ++created),
    ...rest,
  }
}

/** Lets everything happen that waits for nothing but its turn: commits, channels, promises. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}
