import type * as Y from 'yjs'

/** A session's live document in this tab, for whoever sends and receives its updates. */
export interface OpenDocument {
  readonly sessionId: string
  readonly incarnation: string
  readonly doc: Y.Doc
  /**
   * Updates applied with this origin came from the server: they are stored as rows of origin `server`. Anything but the
   * origins of this document's own making is a local edit.
   */
  readonly serverOrigin: object
  /** Resolves when every update that the document has seen so far is committed. */
  readonly flush: () => Promise<void>
}
