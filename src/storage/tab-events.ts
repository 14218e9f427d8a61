import type { Channel } from '../core/environment.ts'
import type { DatabaseEvent } from './database.ts'
import { isTabMessage, type TabMessage } from './tab-message.ts'

/** Who hears of commits: listeners in this tab, and the other tabs of this database. What is received is not sent on. */
export interface TabEvents {
  readonly committed: (message: TabMessage) => void
  /** Tells this tab alone of what another one may have committed unheard. */
  readonly missed: (message: TabMessage) => void
  readonly subscribe: (listener: (event: DatabaseEvent) => void) => () => void
  /** Stops hearing other tabs, so that the page may be kept in the back/forward cache. */
  readonly pause: () => void
  readonly resume: () => void
  readonly close: () => void
}

/** `openChannel` is absent where no other tab can see this database. */
export function createTabEvents(openChannel?: () => Channel): TabEvents {
  const listeners = new Set<(event: DatabaseEvent) => void>()
  let channel = openChannel && listening(openChannel())
  let closed = false

  function listening(opened: Channel): Channel {
    opened.listen((message) => {
      if (isTabMessage(message)) tell({ ...message, remote: true })
    })
    return opened
  }

  function tell(event: DatabaseEvent): void {
    for (const listener of [...listeners]) {
      try {
        listener(event)
      } catch (error) {
        void Promise.reject(error) // the page's to see; the commit stands, and the next listener hears of it
      }
    }
  }

  function post(message: TabMessage): void {
    // A write that was under way when the page was hidden is still news to the others.
    const through = channel ?? openChannel?.()
    through?.post(message)
    if (through !== channel) through?.close()
  }

  function pause(): void {
    channel?.close()
    channel = undefined
  }

  return {
    committed(message) {
      tell({ ...message, remote: false })
      post(message)
    },
    missed: (message) => tell({ ...message, remote: true }),
    subscribe(listener) {
      const own = (event: DatabaseEvent) => listener(event)
      listeners.add(own)
      return () => {
        listeners.delete(own)
      }
    },
    pause,
    resume() {
      if (!closed) channel ??= openChannel && listening(openChannel())
    },
    close() {
      closed = true
      pause()
      listeners.clear()
    },
  }
}
