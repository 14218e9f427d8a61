import type { Message } from '@agentskit/core'
import type {
  ActionConfirmation,
  AttentionItem,
  ClaimInfo,
  RejoinStatus,
  SessionSnapshot,
  SessionSummary,
} from 'rejoin'

/** What a test does with one page: everything in it goes through the package's public API. */
export interface Harness {
  readonly open: (options: OpenOptions) => Promise<void>
  /** Ends this page's Rejoin, as a closed tab would. */
  readonly close: () => Promise<void>
  /** Resumes a session and connects a chat to it. `open`, or why not: a code, else the error's name. */
  readonly chat: (sessionId: string, definition?: DefinitionOptions) => Promise<string>
  /** Says something and resolves when it is answered. */
  readonly send: (text: string) => Promise<void>
  /** Says something to a model that answers only what `token` gives it, until `endAnswer`. Resolves when it was asked. */
  readonly ask: (text: string) => Promise<void>
  readonly token: (text: string) => void
  readonly endAnswer: () => void
  /** Puts a refund before a person and gives the confirmation's token. */
  readonly propose: (refundId: string) => Promise<string>
  /** The status that the confirmation has then, or why not: a code, else the error's name. */
  readonly approve: (token: string) => Promise<string>
  readonly reject: (token: string) => Promise<string>
  readonly releaseClaim: (token: string) => Promise<void>
  readonly view: () => View
  readonly retryNow: () => void
  /** Resolves when the messages that the chat has handed over and the state of its session are on disk. */
  readonly stored: () => Promise<void>
  readonly load: (sessionId: string) => Promise<SessionSnapshot | undefined>
  /** What the storage said, or the code that it refused with. */
  readonly save: (snapshot: SessionSnapshot, expectedCursor: number | undefined) => Promise<boolean | string>
  readonly remove: (sessionId: string) => Promise<void>
  /**
   * Saves the session so many times, each at the cursor that the other tab saves at in the same moment; both tabs are
   * asked at once. What each save said, in order.
   */
  readonly race: (sessionId: string, rounds: number) => Promise<readonly boolean[]>
}

export interface OpenOptions {
  readonly account?: string
  readonly realm?: string
  readonly label: string
  readonly serverUrl?: string
  readonly token?: string
}

export interface DefinitionOptions {
  readonly id?: string
  readonly revision?: number
}

/** Everything that a person could see in the page. */
export interface View {
  readonly chat: readonly ShownMessage[]
  /** The same, as `rejoin.messages(sessionId)` has it. */
  readonly messages: readonly ShownMessage[]
  readonly state: string | undefined
  readonly confirmations: readonly ActionConfirmation[]
  readonly claims: readonly ClaimInfo[]
  readonly attention: readonly AttentionItem[]
  readonly status: RejoinStatus
  readonly sessions: readonly SessionSummary[]
  /** Why what is shown is not stored. */
  readonly problem: string | undefined
  /** What `onError` heard. */
  readonly errors: readonly string[]
}

export type ShownMessage = Pick<Message, 'id' | 'role' | 'content' | 'status'> & {
  /** Tool call id → its status. */
  readonly calls?: Readonly<Record<string, string>>
}

declare global {
  interface Window {
    readonly harness: Harness
  }
}
