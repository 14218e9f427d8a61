import type { ChatMemory } from '../../src/contract/chat-memory.ts'
import type { Message } from '../../src/contract/chat-message.ts'
import type { AgentEvent } from './chat-config.ts'

/** What persistence sees of the controller that it works for. */
export interface PersistenceHost {
  readonly memory: () => ChatMemory | undefined
  readonly messages: () => readonly Message[]
  /** Shows loaded messages without saving them again. */
  readonly hydrate: (messages: readonly Message[]) => void
  /** Empties the conversation, as a state change like any other. */
  readonly empty: () => void
  readonly disposeTools: () => Promise<unknown>
  /** Ends what streams, so that nothing of it arrives later. */
  readonly abandon: () => void
  readonly emit: (event: AgentEvent) => void
  readonly fail: (error: Error) => void
}

/** When memory is read and written: the one thing in which the two regimes differ most. */
export interface Persistence {
  /** Asked at creation and with each new configuration. */
  readonly hydrate: () => Promise<void>
  /** Asked within every state change. */
  readonly changed: () => void
  /** A turn is complete and waits for nobody. */
  readonly settled: () => Promise<void>
  /** A call waits for a person and must be found again after this page. */
  readonly awaiting: () => Promise<void>
  readonly clear: () => Promise<void>
}
