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
  /**
   * Aborts when the document is done with; its reason is a RejoinError: `deleted`, or `closed` when nobody in this tab
   * used it for a while. Nothing that is done to `doc` afterwards is stored.
   */
  readonly ended: AbortSignal
  /** Resolves when every update that the document has seen so far is committed. */
  readonly flush: () => Promise<void>
}
