import type { OpenDocument } from '../messages/open-document.ts'

/** What sync needs of the sessions' documents. */
export interface Documents {
  readonly open: (sessionId: string) => Promise<OpenDocument>
  /** Applies updates that came from the server; resolves when they are stored. */
  readonly receive: (sessionId: string, updates: readonly Uint8Array[]) => Promise<void>
  /** Everything that a peer with this state vector lacks. */
  readonly missing: (sessionId: string, stateVector: Uint8Array) => Promise<Uint8Array>
  /**
   * Which messages the document has, all of them on disk. `whole`: none is left out because it cannot be read. `undefined`:
   * it cannot tell which there are, because the host keeps them elsewhere.
   */
  readonly messages: (
    sessionId: string,
  ) => Promise<{ readonly ids: ReadonlySet<string>; readonly whole: boolean } | undefined>
}
