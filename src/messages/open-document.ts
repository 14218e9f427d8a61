import type * as Y from 'yjs'

/** A session's live document in this tab, for whoever sends and receives its updates. */
export interface OpenDocument {
  readonly sessionId: string
  /** Changes once, when a row that the server never confirmed takes the server's incarnation, rule I2. */
  readonly incarnation: string
  readonly doc: Y.Doc
  /**
   * Updates applied with this origin came from the server: they are stored as rows of origin `server`. Anything but the
   * origins of this document's own making is a local edit.
   */
  readonly serverOrigin: object
  /** Makes another origin (a socket's provider, which names itself) count as `serverOrigin`. Returns the way to stop. */
  readonly addServerOrigin: (origin: object) => () => void
  /**
   * Aborts when the document is done with; its reason is a RejoinError: `deleted`, or `closed` when nobody in this tab
   * used it for a while. Nothing that is done to `doc` afterwards is stored.
   */
  readonly ended: AbortSignal
  /** Resolves when every update that the document has seen so far is committed. */
  readonly flush: () => Promise<void>
  /**
   * Applies every committed update of other tabs that the document has not applied yet, and commits its own. Afterwards
   * `doc` holds all that is on disk of this session.
   */
  readonly catchUp: () => Promise<void>
}
